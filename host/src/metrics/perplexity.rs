//! `Perplexity`: the exponential of the mean cross entropy.

use super::categorical_cross_entropy::entropy;
use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;

/// Perplexity: the exponential of the mean cross entropy of logits against classes.
#[derive(Settings)]
pub(super) struct Perplexity {
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Perplexity {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(classified(t, self.ignore_index, entropy)?);
        Ok(())
    }

    mean_value!(mean, f64::exp);
}
