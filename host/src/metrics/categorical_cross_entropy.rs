//! `CategoricalCrossEntropy`: the mean cross entropy of logits against classes.

use super::mean::{Mean, mean_value};
use super::numbers::{Classified, IGNORED, classified};
use super::softmax::log_probability;
use hookrack_plugin_api::prelude::*;

/// Mean cross entropy of logits against classes.
#[derive(Settings)]
pub(super) struct CategoricalCrossEntropy {
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

/// The sum of the negative log-likelihoods, and their number.
pub(super) fn entropy(batch: Classified<'_>) -> Result<(f64, f64)> {
    ensure!(batch.width > 1, "expected logits of at least 2 classes, found one output per sample");
    batch.sum(|row, class| -log_probability(row, class))
}

#[metric(better = "lower", aliases = "SparseCategoricalCrossEntropy")]
impl Metric for CategoricalCrossEntropy {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(classified(t, self.ignore_index, entropy)?);
        Ok(())
    }

    mean_value!(mean);
}
