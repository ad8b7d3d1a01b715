//! `F1`: the harmonic mean of precision and recall.

use super::class_counts::{Average, ClassCounts, Counts};
use super::gathered::gathered;
use super::numbers::IGNORED;
use hookrack_plugin_api::prelude::*;

/// Harmonic mean of precision and recall.
#[derive(Settings)]
pub(super) struct F1 {
    /// How the values of all classes are averaged.
    #[param(default)]
    average: Average,
    /// Also put the value of each class under its number: `F1.0`, `F1.1`, …
    #[param(default)]
    per_class: bool,
    /// A single output above this predicts class 1; 0 for logits, 0.5 for probabilities.
    #[param(default)]
    threshold: f64,
    /// Label to ignore; that of the loss unless set.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    counts: ClassCounts,
}

#[metric(better = "higher", aliases = "MacroF1, F1Score")]
impl Metric for F1 {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.counts.update(t, self.ignore_index, self.threshold)
    }

    fn compute(&self) -> f64 {
        self.counts.value(self.average, Counts::f1)
    }

    fn step_value(&self) -> Option<f64> {
        self.counts.last(self.average, Counts::f1)
    }

    fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
        self.counts.put(out, self.average, Counts::f1, self.per_class)
    }

    gathered!(counts);
}
