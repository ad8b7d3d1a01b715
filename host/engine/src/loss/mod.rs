//! Losses: how far an output is from its label, as one number to minimize.

mod bce_with_logits;
mod cross_entropy;
mod differences;
mod kl;
mod label;
mod nll;
mod sum;
#[cfg(test)]
mod tests;
mod weights;

use tch::Tensor;

pub use bce_with_logits::BceWithLogitsSettings;
pub use cross_entropy::CrossEntropySettings;
pub use differences::{Huber, L1, Mse, SmoothL1};
pub use kl::{Kl, KlReduction};
pub use nll::NllSettings;
pub use sum::SumSettings;
pub use weights::LabelWeights;

use super::data::DataSpec;
use super::error::Result;
use super::registry::{Built, ComponentKind, Entry};

/// A loss: the mean over the batch, as a 0-dim tensor.
pub trait Criterion: Send {
    /// The loss of an output against its label.
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor>;

    /// What labels weigh in the mean; `None` if each row counts as one.
    fn label_weights(&self) -> Option<&LabelWeights> {
        None
    }

    /// The denominator of the mean if rows have different weights: the number of labels that count, or their total
    /// weight. Reads the labels, which synchronizes with the device if they are not on the CPU. `None` if each row
    /// counts as one.
    fn counted(&self, label: &Tensor) -> Result<Option<f64>> {
        self.label_weights().map_or(Ok(None), |weights| weights.of(label))
    }
}

impl Built for dyn Criterion {
    const KIND: ComponentKind = ComponentKind::Loss;
}

/// Every loss that a config can name.
pub static LOSSES: &[Entry<DataSpec, dyn Criterion>] = &[
    Entry::of::<BceWithLogitsSettings>(),
    Entry::of::<CrossEntropySettings>(),
    Entry::of::<Huber>(),
    Entry::of::<Kl>(),
    Entry::of::<L1>(),
    Entry::of::<Mse>(),
    Entry::of::<NllSettings>(),
    Entry::of::<SmoothL1>(),
    Entry::of::<SumSettings>(),
];
