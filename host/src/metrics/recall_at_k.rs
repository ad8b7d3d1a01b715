//! `RecallAtK`: how often the true class is among the k largest outputs.

use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified};
use super::rank::over_ranks;
use hookrack_plugin_api::prelude::*;

/// Fraction of samples whose true class is among the k largest outputs.
#[derive(Settings)]
pub(super) struct RecallAtK {
    /// Number of largest outputs to consider.
    #[param(default = 5, min = 1)]
    k: usize,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}
#[metric(better = "higher")]
impl Metric for RecallAtK {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer classes than 2^53")]
        let k = self.k as f64;
        let is_hit = |rank: f64| f64::from(u8::from(rank <= k));
        self.mean.add(classified(t, self.ignore_index, |batch| over_ranks(batch, is_hit))?);
        Ok(())
    }

    mean_value!(mean);
}
