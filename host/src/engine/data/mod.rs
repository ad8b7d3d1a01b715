//! Data: data sets that hand out batches by index, the order they are drawn in, and the loader between them.

mod digits;
mod loader;
mod prng;
mod sampler;
mod synthetic;

use tch::Tensor;

pub use digits::{Digits, DigitsSettings, Split};
pub use loader::{Loader, LoaderSettings};
pub use prng::Prng;
pub use sampler::{Remainder, Sampler, Shard};
pub use synthetic::{Synthetic, SyntheticSettings};

use super::error::{EngineError, Result};
use super::registry::Entry;
use crate::torch::shape;

/// What a data set's samples look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpec {
    /// The shape of one input.
    pub input: Vec<i64>,
    /// What a label is.
    pub target: Target,
}

impl DataSpec {
    /// How many numbers a model should give per sample, or per token.
    pub fn outputs(&self) -> Option<i64> {
        match &self.target {
            Target::Classes(count) | Target::Tokens(count) => Some(*count),
            Target::Values(shape) => Some(shape.iter().product()),
        }
    }
}

/// What a label is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One of this many class numbers.
    Classes(i64),
    /// Numbers of this shape.
    Values(Vec<i64>),
    /// For each token of the input the one that follows it, out of a vocabulary of this many. The input is a row of
    /// such tokens, too: both are int64 of the same shape.
    Tokens(i64),
}

/// Some samples side by side; the first dimension of both tensors is the sample.
#[derive(Debug)]
pub struct Batch {
    /// What goes into the model.
    pub input: Tensor,
    /// What should come out.
    pub label: Tensor,
}

impl Batch {
    /// How many samples.
    pub fn rows(&self) -> i64 {
        shape::side(&self.input, 0).unwrap_or(0)
    }

    /// Some of the rows, sharing the memory.
    pub fn narrow(&self, start: i64, rows: i64) -> Result<Self> {
        Ok(Self {
            input: self.input.f_narrow(0, start, rows)?,
            label: self.label.f_narrow(0, start, rows)?,
        })
    }
}

/// A data set. Any sample can be read without those before it.
pub trait Dataset: Send + Sync {
    /// How many samples.
    fn len(&self) -> usize;

    /// What the samples look like.
    fn spec(&self) -> DataSpec;

    /// The samples with these numbers, in this order, in freshly made tensors.
    fn batch(&self, indices: &[usize]) -> Result<Batch>;

    /// Whether there is no sample.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Every data set that a config can name.
pub static DATASETS: &[Entry<(), dyn Dataset>] =
    &[Entry::of::<DigitsSettings>(), Entry::of::<SyntheticSettings>()];

/// The error for a sample that is not there.
fn out_of_range(index: usize, len: usize) -> EngineError {
    EngineError::Data(format!("sample {index} was asked for, but there are {len}"))
}

/// A count as libtorch wants it.
fn size(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
