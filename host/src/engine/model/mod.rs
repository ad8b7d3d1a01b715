//! Models: what turns a batch's input into an output, and the tensors that training changes.

mod linear;
mod mlp;

use tch::{Device, Tensor};

pub use linear::Linear;
pub use mlp::{Mlp, MlpSettings};

use super::data::DataSpec;
use super::error::Result;
use super::named_tensor::NamedTensor;
use super::registry::Entry;

/// Whether the model learns or is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Dropout drops, running statistics move, gradients are recorded.
    Train,
    /// Neither.
    Eval,
}

/// What a model is built for.
#[derive(Debug, Clone)]
pub struct ModelContext {
    /// What the training data look like.
    pub data: DataSpec,
    /// Where the tensors live.
    pub device: Device,
}

/// A model. Its initial values come from libtorch's random numbers, which the host seeds before.
pub trait Model: Send {
    /// The output for a batch; the first dimension of both is the sample.
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor>;

    /// What the optimizer changes, in a fixed order.
    fn params(&self) -> &[NamedTensor];

    /// What the model itself changes, such as running means.
    fn buffers(&self) -> &[NamedTensor];

    /// The shape of one sample that it takes.
    fn input_shape(&self) -> &[i64];

    /// The shape of one sample that it gives.
    fn output_shape(&self) -> &[i64];
}

/// Every model that a config can name.
pub static MODELS: &[Entry<ModelContext, dyn Model>] = &[Entry::of::<MlpSettings>()];
