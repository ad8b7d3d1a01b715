//! `Accuracy`: the fraction of samples whose largest output is the label.

use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified, predicted};
use hookrack_plugin_api::prelude::*;

/// Fraction of samples whose largest output is the label.
#[derive(Settings)]
pub(super) struct Accuracy {
    /// Threshold above which a single output predicts class 1: 0 for logits, 0.5 for probabilities.
    #[param(default)]
    threshold: f64,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "higher", aliases = "CategoricalAccuracy, SparseCategoricalAccuracy")]
impl Metric for Accuracy {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let is_hit = |row: &[f32], class| predicted(row, self.threshold) == class;
        let hits = |row: &[f32], class| f64::from(u8::from(is_hit(row, class)));
        self.mean.add(classified(t, self.ignore_index, |batch| batch.sum(hits))?);
        Ok(())
    }

    mean_value!(mean);
}
