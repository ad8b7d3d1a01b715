//! `Perplexity`: among how many equally likely classes the model hesitates.

use super::categorical_cross_entropy::entropy;
use super::gathered::gathered;
use super::mean::Mean;
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;

/// Perplexity: the exponential of the mean cross entropy of logits against classes.
#[derive(Settings)]
pub(super) struct Perplexity {
    /// Label to ignore; that of the loss unless set.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Perplexity {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (sum, count) = classified(t, self.ignore_index, entropy)?;
        self.mean.add(sum, count);
        Ok(())
    }

    fn compute(&self) -> f64 {
        self.mean.value().exp()
    }

    fn step_value(&self) -> Option<f64> {
        self.mean.last().map(f64::exp)
    }

    gathered!(mean);
}
