//! `MeanReciprocalRank`: how near to the top the right class stands.

use super::gathered::gathered;
use super::mean::Mean;
use super::numbers::{IGNORED, classified};
use super::rank::over_ranks;
use hookrack_plugin_api::prelude::*;

/// The mean of 1 / place of the right class among the sorted outputs.
#[derive(Settings)]
pub(super) struct MeanReciprocalRank {
    /// Labels with this number do not count; unless set, that which the loss ignores.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "higher")]
impl Metric for MeanReciprocalRank {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (sum, count) =
            classified(t, self.ignore_index, |batch| over_ranks(batch, |rank| 1.0 / rank))?;
        self.mean.add(sum, count);
        Ok(())
    }

    fn compute(&self) -> f64 {
        self.mean.value()
    }

    fn step_value(&self) -> Option<f64> {
        self.mean.last()
    }

    gathered!(mean);
}
