//! `MeanReciprocalRank`: the mean of 1 / rank of the true class.

use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified};
use super::rank::over_ranks;
use hookrack_plugin_api::prelude::*;

/// Mean of 1 / rank of the true class among the sorted outputs.
#[derive(Settings)]
pub(super) struct MeanReciprocalRank {
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "higher")]
impl Metric for MeanReciprocalRank {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean
            .add(classified(t, self.ignore_index, |batch| over_ranks(batch, |rank| 1.0 / rank))?);
        Ok(())
    }

    mean_value!(mean);
}
