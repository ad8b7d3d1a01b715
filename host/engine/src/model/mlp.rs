//! `MLP`: linear layers with an activation and dropout between them.

use std::ops::Range;

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::init::Init;
use super::layer::{Activation, Linear};
use super::param_builder::{ModelInfo, ParamBuilder};
use super::{Mode, Model, ModelContext, dropped};
use crate::error::{EngineError, Result};
use crate::registry::Component;
use hookrack_torch::shape;

/// Linear layers with an activation and dropout between them; the input is flattened.
#[derive(Debug, Clone, Settings)]
pub struct MlpSettings {
    /// Widths of the hidden layers; empty for a single linear layer.
    #[param(default = [64])]
    pub hidden: Vec<i64>,
    /// Activation after each hidden layer.
    #[param(default)]
    pub activation: Activation,
    /// Dropout probability after each hidden layer.
    #[param(default, min = 0.0, max = 1.0)]
    pub dropout: f64,
    /// Input features. Default: those of the data set.
    #[param(min = 1)]
    pub inputs: Option<i64>,
    /// Output features. Default: those of the data set, one per class.
    #[param(min = 1)]
    pub outputs: Option<i64>,
    /// Weight initialization.
    #[param(default)]
    pub init: Init,
}

impl Component<ModelContext, dyn Model> for MlpSettings {
    const NAME: &'static str = "MLP";

    fn build(self, context: &ModelContext) -> Result<Box<dyn Model>> {
        if let Some(width) = self.hidden.iter().find(|width| **width < 1) {
            return Err(Self::refuse(format!("a hidden width of {width}: must be at least 1")));
        }
        if context.data.has_tokens() {
            return Err(Self::refuse(
                "it expects numbers, but a sample is a row of tokens: use GPT, or Sequential with an embedding",
            ));
        }
        let given: i64 = context.data.input.iter().product();
        let inputs = self.inputs.unwrap_or(given);
        if inputs != given {
            let shape = &context.data.input;
            return Err(Self::refuse(format!(
                "inputs = {inputs}, but a sample of shape {shape:?} has {given} numbers"
            )));
        }
        let outputs = context.outputs(self.outputs).map_err(Self::refuse)?;
        self.init.check().map_err(Self::refuse)?;
        let builder = ParamBuilder::of(context, &self.init);
        Ok(Box::new(Mlp::new(&self, inputs, outputs, builder)?))
    }
}

/// The model itself.
#[derive(Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
    activation: Activation,
    dropout: f64,
    info: ModelInfo,
}

impl Mlp {
    fn new(
        settings: &MlpSettings,
        inputs: i64,
        outputs: i64,
        mut builder: ParamBuilder,
    ) -> Result<Self> {
        let mut widths = vec![inputs];
        widths.extend(&settings.hidden);
        widths.push(outputs);
        let pairs = widths.windows(2).enumerate();
        let layers = pairs
            .map(|(i, pair)| {
                let path = format!("layers.{i}");
                builder.unit(&path);
                Linear::new(&mut builder, &path, pair[0], pair[1])
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            layers,
            activation: settings.activation,
            dropout: settings.dropout,
            info: builder.finish(&[inputs], &[outputs]),
        })
    }
}

impl Model for Mlp {
    fn forward_units(&self, units: Range<usize>, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut x = if units.start == 0 { self.flat(input)? } else { input.shallow_clone() };
        for unit in units {
            let layer = &self.layers[unit];
            x = if unit + 1 < self.layers.len() {
                dropped(layer.activated(&x, self.activation)?, self.dropout, mode)?
            } else {
                layer.forward(&x)?
            };
        }
        Ok(x)
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

impl Mlp {
    /// A batch with each sample flattened to one row.
    fn flat(&self, input: &Tensor) -> Result<Tensor> {
        let x = match input.dim() {
            0 | 1 => return Err(self.wrong_shape(input)),
            2 => input.shallow_clone(),
            _ => input.f_flatten(1, -1)?,
        };
        if shape::side(&x, 1) != Some(self.info.input_shape[0]) {
            return Err(self.wrong_shape(input));
        }
        Ok(x)
    }

    fn wrong_shape(&self, input: &Tensor) -> EngineError {
        EngineError::Shape {
            what: "model `MLP`",
            wanted: format!("[batch, {}] once flattened", self.info.input_shape[0]),
            found: input.size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Target};
    use crate::model::MODELS;
    use crate::registry::{Build as _, Choice};
    use hookrack_torch::rng;
    use tch::{Device, Kind};

    fn context() -> ModelContext {
        let data = DataSpec { input: vec![1, 2, 3], target: Target::Classes(4) };
        ModelContext::new(data, Device::Cpu)
    }

    fn mlp(settings: &[(&str, hookrack_plugin_api::Value)]) -> Result<Box<dyn Model>> {
        Choice::new("MLP", settings).build(MODELS, &context())
    }

    #[test]
    fn sizes_come_from_the_data_and_names_are_pytorchs() {
        let model = mlp(&[("hidden", vec![5_i64, 7].into())]).unwrap();
        let names: Vec<_> =
            model.params().iter().map(|p| (p.name.as_str(), p.tensor.size())).collect();
        assert_eq!(names[0], ("layers.0.weight", vec![5, 6]));
        assert_eq!(names[3], ("layers.1.bias", vec![7]));
        assert_eq!(names[4], ("layers.2.weight", vec![4, 7]));
        let input = Tensor::zeros([9, 1, 2, 3], (Kind::Float, Device::Cpu));
        assert_eq!(model.forward(&input, Mode::Eval).unwrap().size(), [9, 4]);
    }

    #[test]
    fn dropout_acts_in_training_only() {
        let model = mlp(&[("dropout", 0.5.into())]).unwrap();
        let input = Tensor::ones([8, 6], (Kind::Float, Device::Cpu));
        let out = |mode| model.forward(&input, mode).unwrap();
        assert_eq!(out(Mode::Eval), out(Mode::Eval));
        assert_ne!(out(Mode::Train), out(Mode::Train));
    }

    #[test]
    fn one_seed_gives_one_model() {
        let first = |seed| {
            rng::seed(seed);
            mlp(&[]).unwrap().params()[0].tensor.shallow_clone()
        };
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
    }

    #[test]
    fn wrong_settings_and_shapes_are_reported() {
        let text = |settings: &[(&str, hookrack_plugin_api::Value)]| match mlp(settings) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("accepted"),
        };
        assert_eq!(text(&[("dropout", 1.5.into())]), "model `MLP`: dropout = 1.5 is more than 1");
        assert!(text(&[("hidden", vec![0_i64].into())]).contains("hidden width of 0"));
        assert!(text(&[("activation", "rely".into())]).contains("unknown variant `rely`"));
        let input = Tensor::zeros([9, 5], (Kind::Float, Device::Cpu));
        let error = mlp(&[]).unwrap().forward(&input, Mode::Eval).unwrap_err();
        assert_eq!(
            error.to_string(),
            "model `MLP` expects shape [batch, 6] once flattened, found [9, 5]"
        );
    }
}
