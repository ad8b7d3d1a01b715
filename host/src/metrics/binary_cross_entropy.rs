//! `BinaryCrossEntropy`: the mean binary cross entropy of each output.

use super::mean::{Mean, mean_value};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// Mean binary cross entropy of outputs against labels in 0..1.
#[derive(Settings)]
pub(super) struct BinaryCrossEntropy {
    /// Outputs are logits; otherwise probabilities.
    #[param(default = true)]
    logits: bool,
    #[param(skip)]
    mean: Mean,
}
/// For a logit: finite however large it is.
fn of_logit(x: f64, y: f64) -> f64 {
    x.max(0.0) - x * y + (-x.abs()).exp().ln_1p()
}

/// For a probability. Logarithms are clamped at -100, as in PyTorch.
fn of_probability(p: f64, y: f64) -> f64 {
    let log = |p: f64| if p.is_nan() { p } else { p.ln().max(-100.0) };
    -(y * log(p) + (1.0 - y) * log(1.0 - p))
}

#[metric(better = "lower")]
impl Metric for BinaryCrossEntropy {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let entropy = if self.logits { of_logit } else { of_probability };
        self.mean.add(paired(t, |batch| Ok(batch.total(entropy)))?);
        Ok(())
    }

    mean_value!(mean);
}
