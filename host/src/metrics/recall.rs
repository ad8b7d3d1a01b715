//! `Recall`: of what is a class, the share that was found.

use super::class_counts::{Average, ClassCounts, Counts};
use super::gathered::gathered;
use super::numbers::IGNORED;
use hookrack_plugin_api::prelude::*;

/// Fraction of the samples of a class that are predicted as it.
#[derive(Settings)]
pub(super) struct Recall {
    /// How the values of all classes are averaged.
    #[param(default)]
    average: Average,
    /// Also put the value of each class under its number: `Recall.0`, `Recall.1`, …
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
impl Metric for Recall {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.counts.update(t, self.ignore_index, self.threshold)
    }

    fn compute(&self) -> f64 {
        self.counts.value(self.average, Counts::recall)
    }

    fn step_value(&self) -> Option<f64> {
        self.counts.last(self.average, Counts::recall)
    }

    fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
        self.counts.put(out, self.average, Counts::recall, self.per_class)
    }

    gathered!(counts);
}
