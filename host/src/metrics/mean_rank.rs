//! `MeanRank`: the mean rank of the true class.

use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified};
use super::rank::over_ranks;
use hookrack_plugin_api::prelude::*;

/// Mean rank of the true class among the sorted outputs, from 1.
#[derive(Settings)]
pub(super) struct MeanRank {
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for MeanRank {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(classified(t, self.ignore_index, |batch| over_ranks(batch, |rank| rank))?);
        Ok(())
    }

    mean_value!(mean);
}
