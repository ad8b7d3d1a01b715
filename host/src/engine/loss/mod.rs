//! Losses: how far an output is from its label, as one number to go down.

mod cross_entropy;
mod mse;

use tch::Tensor;

pub use cross_entropy::CrossEntropy;
pub use mse::Mse;

use super::data::DataSpec;
use super::error::Result;
use super::registry::Entry;

/// A loss: the mean over the batch, as a 0-dim tensor.
pub trait Criterion: Send {
    /// The loss of an output against its label.
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor>;
}

/// Every loss that a config can name.
pub static LOSSES: &[Entry<DataSpec, dyn Criterion>] =
    &[Entry::of::<CrossEntropy>(), Entry::of::<Mse>()];
