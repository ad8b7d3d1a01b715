//! `Precision`, `Recall` and `F1`: three values of the same counts.

use super::class_counts::{Average, ClassCounts, Counts};
use super::gathered::gathered;
use super::numbers::IGNORED;
use hookrack_plugin_api::prelude::*;

/// A metric type for one value of the counts.
///
/// A macro, because a metric's description is derived from its own struct and `impl` block.
macro_rules! class_score {
    ($name:ident, $rate:expr, $doc:literal, $per_class:literal, $aliases:literal) => {
        #[doc = $doc]
        #[derive(Settings)]
        pub(super) struct $name {
            /// How the values of all classes are averaged.
            #[param(default)]
            average: Average,
            #[doc = $per_class]
            #[param(default)]
            per_class: bool,
            /// Threshold above which a single output predicts class 1: 0 for logits, 0.5 for probabilities.
            #[param(default)]
            threshold: f64,
            /// Label to ignore; by default that of the loss.
            #[param(default = IGNORED)]
            ignore_index: i64,
            #[param(skip)]
            counts: ClassCounts,
        }

        #[metric(better = "higher", aliases = $aliases)]
        impl Metric for $name {
            fn update(&mut self, t: &mut Trainer) -> Result<()> {
                self.counts.update(t, self.ignore_index, self.threshold)
            }

            fn compute(&self) -> f64 {
                self.counts.value(self.average, $rate)
            }

            fn step_value(&self) -> Option<f64> {
                self.counts.last(self.average, $rate)
            }

            fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
                self.counts.put(out, self.average, $rate, self.per_class)
            }

            gathered!(counts);
        }
    };
}

class_score!(
    Precision,
    Counts::precision,
    "Fraction of the samples predicted as a class that belong to it.",
    "Also log the value of each class under its number: `Precision.0`, `Precision.1`, …",
    ""
);
class_score!(
    Recall,
    Counts::recall,
    "Fraction of the samples of a class that are predicted as that class.",
    "Also log the value of each class under its number: `Recall.0`, `Recall.1`, …",
    ""
);
class_score!(
    F1,
    Counts::f1,
    "Harmonic mean of precision and recall.",
    "Also log the value of each class under its number: `F1.0`, `F1.1`, …",
    "MacroF1, F1Score"
);
