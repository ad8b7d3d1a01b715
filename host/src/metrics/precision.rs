//! `Precision`: of what was said to be a class, the share that is.

use super::class_counts::{Average, ClassCounts, Counts};
use super::gathered::gathered;
use super::numbers::IGNORED;
use hookrack_plugin_api::prelude::*;

/// Fraction of the samples predicted as a class that belong to it.
#[derive(Settings)]
pub(super) struct Precision {
    /// How the values of all classes are averaged.
    #[param(default)]
    average: Average,
    /// Also put the value of each class under its number: `Precision.0`, `Precision.1`, …
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

#[metric(better = "higher")]
impl Metric for Precision {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.counts.update(t, self.ignore_index, self.threshold)
    }

    fn compute(&self) -> f64 {
        self.counts.value(self.average, Counts::precision)
    }

    fn step_value(&self) -> Option<f64> {
        self.counts.last(self.average, Counts::precision)
    }

    fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
        self.counts.put(out, self.average, Counts::precision, self.per_class)
    }

    gathered!(counts);
}
