//! `Accuracy`: the fraction of samples whose largest output is the label.

use super::mean::{Mean, mean_value};
use super::numbers::{Classified, IGNORED, classified, predicted};
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

fn hits(batch: Classified<'_>, threshold: f64) -> Result<(f64, f64)> {
    let (mut hits, mut samples) = (0.0, 0.0);
    for row in batch.rows() {
        let (row, class) = row?;
        samples += 1.0;
        hits += f64::from(u8::from(predicted(row, threshold) == class));
    }
    Ok((hits, samples))
}

#[metric(better = "higher", aliases = "CategoricalAccuracy, SparseCategoricalAccuracy")]
impl Metric for Accuracy {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (ignored, threshold) = (self.ignore_index, self.threshold);
        self.mean.add(classified(t, ignored, |batch| hits(batch, threshold))?);
        Ok(())
    }

    mean_value!(mean);
}
