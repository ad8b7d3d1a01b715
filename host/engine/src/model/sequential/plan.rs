//! From tables of a config to layers: every shape is known before a tensor is made.

use std::ops::Range;

use hookrack_plugin_api::Value;
use tch::Tensor;

use super::LAYERS;
use crate::error::{EngineError, Result};
use crate::model::param_builder::ParamBuilder;
use crate::model::{LayerOutput, Mode};
use crate::registry::{Build as _, Choice};
use crate::tree::Tree;

/// A layer that was made.
pub(super) trait Layer: Send + std::fmt::Debug {
    /// The output for a batch.
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor>;
}

/// One sample between two layers.
#[derive(Debug, Clone)]
pub(super) struct SampleShape {
    /// The shape.
    pub(super) shape: Vec<i64>,
    /// The vocabulary size, if the values are tokens.
    pub(super) tokens: Option<i64>,
    /// The number of outputs that the data needs, per sample or per token.
    pub(super) outputs: Option<i64>,
}

impl SampleShape {
    /// The same with another shape.
    pub(super) fn shaped(&self, shape: impl Into<Vec<i64>>) -> Self {
        Self { shape: shape.into(), tokens: None, outputs: self.outputs }
    }

    /// The shape of numbers; `None` for tokens.
    pub(super) fn numbers(&self) -> Check<&[i64]> {
        match self.tokens {
            None => Ok(&self.shape),
            Some(_) => Err(format!(
                "it expects numbers, found tokens of shape {:?}: put an embedding before it",
                self.shape
            )),
        }
    }

    /// Channels, rows and columns.
    pub(super) fn image(&self) -> Check<[i64; 3]> {
        <[i64; 3]>::try_from(self.numbers()?).map_err(|_| {
            format!("it expects images [channels, rows, columns], found shape {:?}", self.shape)
        })
    }

    /// Positions and width.
    pub(super) fn rows(&self) -> Check<[i64; 2]> {
        <[i64; 2]>::try_from(self.numbers()?).map_err(|_| {
            format!("it expects rows [positions, width], found shape {:?}", self.shape)
        })
    }

    /// The last dimension, which must match the config if that sets it.
    pub(super) fn last(&self, set: Option<i64>) -> Check<i64> {
        match (self.numbers()?.last(), set) {
            (Some(&last), None) => Ok(last),
            (Some(&last), Some(set)) if set == last => Ok(last),
            (Some(_), Some(set)) => {
                Err(format!("it expects shape [.., {set}], found shape {:?}", self.shape))
            }
            (None, _) => Err("it expects rows of numbers, found a single one".to_owned()),
        }
    }
}

/// What a layer's settings are checked with: an error says what is wrong, the caller says where.
pub(super) type Check<T> = std::result::Result<T, String>;

/// A layer's position and input.
#[derive(Debug, Clone)]
pub struct LayerInput {
    /// Its key below `[model]`, and the name in front of those of its tensors.
    pub(super) path: String,
    /// What comes in.
    pub(super) sample: SampleShape,
}

type MakeLayer = Box<dyn FnOnce(&mut ParamBuilder) -> Result<Box<dyn Layer>>>;

/// A layer whose shapes are known, before its tensors are created.
pub struct LayerPlan {
    /// What comes out.
    pub(super) output: SampleShape,
    make: MakeLayer,
}

impl LayerPlan {
    #[expect(clippy::unnecessary_box_returns, reason = "what a component builds is boxed")]
    pub(super) fn new<L: Layer + 'static>(
        output: SampleShape,
        make: impl FnOnce(&mut ParamBuilder) -> Result<L> + 'static,
    ) -> Box<Self> {
        let make = |builder: &mut ParamBuilder| Ok(Box::new(make(builder)?) as Box<dyn Layer>);
        Box::new(Self { output, make: Box::new(make) })
    }

    /// Creates the tensors.
    pub(super) fn make(self, builder: &mut ParamBuilder) -> Result<Box<dyn Layer>> {
        (self.make)(builder)
    }
}

/// Layers in sequence.
#[derive(Debug)]
pub(super) struct LayerStack(Vec<(LayerOutput, Box<dyn Layer>)>);

impl LayerStack {
    /// The output of some of the layers.
    pub(super) fn forward_some(
        &self,
        layers: Range<usize>,
        input: &Tensor,
        mode: Mode,
    ) -> Result<Tensor> {
        let start = input.shallow_clone();
        let step = |x: Tensor, (output, layer): &(LayerOutput, Box<dyn Layer>)| {
            Ok(output.keep(layer.forward(&x, mode)?))
        };
        self.0[layers].iter().try_fold(start, step)
    }
}

impl Layer for LayerStack {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        self.forward_some(0..self.0.len(), input, mode)
    }
}

/// Layers in sequence whose shapes are known, before their tensors are created.
pub(super) struct StackPlan {
    /// What comes out of the last one.
    pub(super) output: SampleShape,
    plans: Vec<(String, Box<LayerPlan>)>,
}

impl StackPlan {
    /// Creates the tensors; `begin` is called before those of each layer.
    pub(super) fn make(
        self,
        builder: &mut ParamBuilder,
        begin: impl Fn(&mut ParamBuilder, &str),
    ) -> Result<LayerStack> {
        let layers = self.plans.into_iter().map(|(path, plan)| {
            begin(builder, &path);
            let output = builder.layer(&path);
            Ok((output, plan.make(builder)?))
        });
        Ok(LayerStack(layers.collect::<Result<_>>()?))
    }
}

/// Plans layers in sequence; `path` is the key of their list.
pub(super) fn stack(tables: Vec<Tree>, path: &str, sample: SampleShape) -> Result<StackPlan> {
    let (mut plans, mut sample) = (Vec::with_capacity(tables.len()), sample);
    for (index, Tree(table)) in tables.into_iter().enumerate() {
        let at = LayerInput { path: format!("{path}.{index}"), sample };
        let plan = single(table, &at)?;
        sample = plan.output.clone();
        plans.push((at.path, plan));
    }
    Ok(StackPlan { output: sample, plans })
}

/// Plans one layer. An error has the layer's path; that of a nested layer is added by the nested call.
fn single(table: Value, layer: &LayerInput) -> Result<Box<LayerPlan>> {
    let at = |name: &str, why: String| EngineError::Layer {
        path: layer.path.clone(),
        name: name.to_owned(),
        why,
    };
    let choice = Choice::from_table("layer", table).map_err(|why| at("layer", why))?;
    choice.build(LAYERS, layer).map_err(|error| match error {
        EngineError::Settings { why, .. } => at(&choice.name, why),
        EngineError::UnknownType { .. } => at(&choice.name, error.to_string()),
        other => other,
    })
}
