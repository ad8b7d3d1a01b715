//! `Sequential`: a model described layer by layer in the config.

mod conv;
mod linear;
mod norm;
mod plain;
mod plan;
mod pool;
mod residual;
mod rows;

use std::ops::Range;

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use self::plan::{LayerInput, LayerPlan, LayerStack, SampleShape, stack};
use super::init::Init;
use super::param_builder::{ModelInfo, ParamBuilder};
use super::{Mode, Model, ModelContext, check_batch, check_tokens};
use crate::data::{DataSpec, Target};
use crate::error::{EngineError, Result};
use crate::registry::{Built, Component, ComponentKind, Entry};
use crate::tree::Tree;

/// Layers in sequence, each a table `[[model.layers]]` with its `type`; shapes follow from the data.
///
/// Tensors are named by place: `layers.0.weight`, `layers.4.layers.1.bias`, …
#[derive(Debug, Clone, Settings)]
pub struct SequentialSettings {
    /// The layers.
    pub layers: Vec<Tree>,
    /// Weight initialization.
    #[param(default)]
    pub init: Init,
}

impl Built for LayerPlan {
    const KIND: ComponentKind = ComponentKind::Layer;
}

/// Every layer that a config can name.
pub static LAYERS: &[Entry<LayerInput, LayerPlan>] = &[
    Entry::of::<linear::LinearLayer>(),
    Entry::of::<conv::ConvLayer>(),
    Entry::of::<norm::NormLayer>(),
    Entry::of::<pool::PoolLayer>(),
    Entry::of::<plain::ActivationLayer>(),
    Entry::of::<plain::DropoutLayer>(),
    Entry::of::<plain::FlattenLayer>(),
    Entry::of::<residual::ResidualLayer>(),
    Entry::of::<rows::EmbeddingLayer>(),
    Entry::of::<rows::PositionalLayer>(),
    Entry::of::<rows::AttentionLayer>(),
];

impl Component<ModelContext, dyn Model> for SequentialSettings {
    const NAME: &'static str = "Sequential";

    fn build(self, context: &ModelContext) -> Result<Box<dyn Model>> {
        let DataSpec { input, target } = &context.data;
        self.init.check().map_err(Self::refuse)?;
        let last = self.layers.len().checked_sub(1);
        let last = last.ok_or_else(|| Self::refuse("layers is empty: add at least one"))?;
        let name = type_of(&self.layers[last]);
        let tokens = if let Target::Tokens(count) = target { Some(*count) } else { None };
        let sample = SampleShape { shape: input.clone(), tokens, outputs: context.data.outputs() };
        let plan = stack(self.layers, "layers", sample)?;
        let (output, wanted) = (plan.output.shape.clone(), wanted(&context.data));
        if output != wanted {
            let path = format!("layers.{last}");
            let why =
                format!("the last layer gives shape {output:?}, but the data needs {wanted:?}");
            return Err(EngineError::Layer { path, name, why });
        }
        let mut builder = ParamBuilder::of(context, &self.init);
        let layers = plan.make(&mut builder, ParamBuilder::unit)?;
        Ok(Box::new(Sequential {
            layers,
            takes_tokens: tokens.is_some(),
            info: builder.finish(input, &output),
        }))
    }
}

fn type_of(layer: &Tree) -> String {
    let name = layer.0.field("type").and_then(|name| name.as_str());
    name.unwrap_or("layer").to_owned()
}

/// The shape that the data wants for a sample.
fn wanted(data: &DataSpec) -> Vec<i64> {
    match &data.target {
        Target::Classes(count) | Target::Shares(count) => vec![*count],
        Target::Values(shape) => shape.clone(),
        Target::Tokens(count) => [data.input.as_slice(), &[*count]].concat(),
    }
}

/// The model itself.
#[derive(Debug)]
struct Sequential {
    layers: LayerStack,
    takes_tokens: bool,
    info: ModelInfo,
}

impl Model for Sequential {
    fn forward_units(&self, units: Range<usize>, input: &Tensor, mode: Mode) -> Result<Tensor> {
        match self.info.input_shape.as_slice() {
            _ if units.start > 0 => {}
            [longest] if self.takes_tokens => {
                check_tokens("model `Sequential`", input, *longest)?;
            }
            shape => check_batch("model `Sequential`", input, shape)?,
        }
        self.layers.forward_some(units, input, mode)
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests;
