//! Models: what turns a batch's input into an output, and the tensors that training changes.

mod dry_run;
mod gpt;
mod init;
mod initializer;
pub mod layer;
mod layer_output;
mod lenet;
mod mlp;
mod norm_ranks;
mod param_builder;
mod resnet;
mod sequential;
mod torch_script;
mod traced;
mod unit;
mod widen;

use std::ops::Range;

use tch::{Device, Kind, Tensor};

pub use gpt::GptSettings;
pub use init::{Fan, Fans, Init, InitType};
pub use initializer::Initializer;
pub use layer_output::LayerOutput;
pub use lenet::LeNetSettings;
pub use mlp::{Mlp, MlpSettings};
pub use norm_ranks::NormRanks;
pub use param_builder::{ModelInfo, ParamBuilder};
pub use resnet::ResNetSettings;
pub use sequential::LAYERS;
pub use sequential::SequentialSettings;
pub use torch_script::{TorchScript, TorchScriptSettings};
pub use traced::Traced;
pub use unit::{BuiltUnits, Shared, Unit};
pub(crate) use widen::widen;

use super::data::DataSpec;
use super::error::{EngineError, Result};
use super::named_tensor::NamedTensor;
use super::registry::{Built, ComponentKind, Entry};
use hookrack_torch::shape;

/// Whether the model is training or evaluating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Dropout is active, running statistics are updated, gradients are recorded.
    Train,
    /// None of these.
    Eval,
}

/// What a model is built for.
#[derive(Debug, Clone)]
pub struct ModelContext {
    /// What the training data look like.
    pub data: DataSpec,
    /// Where the tensors live.
    pub device: Device,
    /// Which of its units are made.
    pub made: BuiltUnits,
    /// The type that its floats are converted to once it is made.
    pub kind: Kind,
}

impl ModelContext {
    /// For the whole of a model, in 32 bits.
    pub fn new(data: DataSpec, device: Device) -> Self {
        Self { data, device, made: BuiltUnits::All, kind: Kind::Float }
    }

    /// The number of outputs: as configured, or as the data set needs.
    fn outputs(&self, set: Option<i64>) -> std::result::Result<i64, &'static str> {
        set.or(self.data.outputs())
            .ok_or("the data set does not define the number of outputs: set outputs")
    }

    /// Channels, rows and columns of the images, or an error that says what the samples are.
    fn image(&self) -> std::result::Result<[i64; 3], String> {
        <[i64; 3]>::try_from(self.data.input.as_slice()).map_err(|_| {
            let found = &self.data.input;
            format!("it expects images [channels, rows, columns], but a sample has shape {found:?}")
        })
    }
}

/// A model. Its initial values come from libtorch's random numbers, which the host seeds before it is built.
pub trait Model: Send {
    /// The output for a batch; the first dimension of both is the sample. That of all units, unless the model has none.
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        self.forward_units(0..self.info().units.len(), input, mode)
    }

    /// The output of some of its units, one after the other. `input` is the output of the unit before them, or the model's.
    ///
    /// # Errors
    /// The model cannot be split: [`ModelInfo::units`] is empty.
    fn forward_units(&self, _units: Range<usize>, _input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Err(EngineError::NoUnits)
    }

    /// Its tensors, and the shapes of samples.
    fn info(&self) -> &ModelInfo;

    /// The parameters, which the optimizer changes, in a fixed order.
    fn params(&self) -> &[NamedTensor] {
        &self.info().params
    }

    /// The buffers, which the model itself changes, such as running means.
    fn buffers(&self) -> &[NamedTensor] {
        &self.info().buffers
    }

    /// The shape of one input sample.
    fn input_shape(&self) -> &[i64] {
        &self.info().input_shape
    }

    /// The shape of one output sample.
    fn output_shape(&self) -> &[i64] {
        &self.info().output_shape
    }

    /// Whether it runs as a graph already.
    fn is_graph(&self) -> bool {
        false
    }
}

impl Built for dyn Model {
    const KIND: ComponentKind = ComponentKind::Model;
}

/// Every model that a config can name.
pub static MODELS: &[Entry<ModelContext, dyn Model>] = &[
    Entry::of::<MlpSettings>(),
    Entry::of::<LeNetSettings>(),
    Entry::of::<ResNetSettings>(),
    Entry::of::<GptSettings>(),
    Entry::of::<SequentialSettings>(),
    Entry::of::<TorchScriptSettings>(),
];

/// Rejects a batch whose samples do not have the shape that the model was built for.
fn check_batch(what: &'static str, input: &Tensor, sample: &[i64]) -> Result<()> {
    let same = |(index, side): (usize, &i64)| shape::side(input, index + 1) == Some(*side);
    if input.dim() == sample.len() + 1 && sample.iter().enumerate().all(same) {
        return Ok(());
    }
    let sides: Vec<String> = sample.iter().map(ToString::to_string).collect();
    let wanted = format!("[batch, {}]", sides.join(", "));
    Err(EngineError::Shape { what, wanted, found: input.size() })
}

/// Rejects a batch that is not rows of tokens, or whose rows are too long; returns their length.
fn check_tokens(what: &'static str, input: &Tensor, longest: i64) -> Result<i64> {
    match (input.dim(), shape::side(input, 1)) {
        (2, Some(row)) if row <= longest && input.f_kind()? == Kind::Int64 => Ok(row),
        _ => Err(EngineError::Shape {
            what,
            wanted: format!("[batch, tokens] of integers, with at most {longest} tokens"),
            found: input.size(),
        }),
    }
}

/// The input with dropout in training; the same handle if nothing is dropped.
fn dropped(x: Tensor, share: f64, mode: Mode) -> Result<Tensor> {
    if share > 0.0 && mode == Mode::Train { Ok(x.f_dropout(share, true)?) } else { Ok(x) }
}

#[cfg(test)]
mod tests;
