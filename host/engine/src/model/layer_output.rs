//! The output of a named layer, kept on request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tch::Tensor;

/// Where a layer stores its output. If it was not requested, this costs one load of a flag. Names are those of
/// PyTorch's modules: the part of a parameter's name before `.weight`.
#[derive(Debug, Clone)]
pub struct LayerOutput(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    name: String,
    wanted: AtomicBool,
    output: Mutex<Option<Tensor>>,
}

impl LayerOutput {
    /// For a layer with this name.
    pub(super) fn new(name: &str) -> Self {
        Self(Arc::new(Kept {
            name: name.to_owned(),
            wanted: AtomicBool::new(false),
            output: Mutex::default(),
        }))
    }

    /// The layer's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Requests it from the next pass on.
    pub fn want(&self) {
        self.0.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether it was requested. Later layers must then not change it in place.
    pub fn is_wanted(&self) -> bool {
        self.0.wanted.load(Ordering::Relaxed)
    }

    /// Keeps an output if it was requested, and returns it. The kept one is the same tensor, with its graph.
    pub fn keep(&self, output: Tensor) -> Tensor {
        if self.is_wanted() {
            self.set(Some(output.shallow_clone()));
        }
        output
    }

    /// The output of the last pass.
    pub fn output(&self) -> Option<Tensor> {
        let output = self.0.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.as_ref().map(Tensor::shallow_clone)
    }

    /// Releases it, and its graph.
    pub fn clear(&self) {
        if self.is_wanted() {
            self.set(None);
        }
    }

    fn set(&self, output: Option<Tensor>) {
        *self.0.output.lock().unwrap_or_else(PoisonError::into_inner) = output;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Target};
    use crate::model::{MODELS, Mode, Model, ModelContext};
    use crate::registry::{Build as _, Choice};
    use hookrack_plugin_api::Value;
    use hookrack_torch::rng;
    use tch::{Device, Kind};

    fn table(fields: &[(&str, Value)]) -> Value {
        Value::Table(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    /// Every built-in model, small, with a batch that it takes.
    fn models() -> Vec<(&'static str, Box<dyn Model>, Tensor)> {
        // Of other initial values a narrow block may be 0 everywhere.
        rng::seed(1);
        let numbers = |shape: &[i64]| Tensor::randn(shape, (Kind::Float, Device::Cpu));
        let layer = |name: &str, more: &[(&str, Value)]| {
            let kind = [("type", Value::from(name))];
            table(&[kind.as_slice(), more].concat())
        };
        let inner = vec![layer("linear", &[("outputs", 6_i64.into())]), layer("activation", &[])];
        let layers = vec![
            layer("flatten", &[]),
            layer("linear", &[("outputs", 6_i64.into())]),
            layer("residual", &[("layers", Value::List(inner))]),
            layer("norm", &[]),
            layer("linear", &[]),
        ];
        let tokens = [("layers", 2_i64.into()), ("heads", 2_i64.into()), ("width", 8_i64.into())];
        let resnet = [("width", 4_i64.into()), ("depth", 18_i64.into())];
        let bottleneck =
            [("width", 2_i64.into()), ("depth", 50_i64.into()), ("stem", "cifar".into())];
        let image = [1, 16, 16];
        let of = |name: &'static str, settings: &[(&str, Value)], input: &[i64], target| {
            let data = DataSpec { input: input.to_vec(), target };
            let context = ModelContext::new(data, Device::Cpu);
            Choice::new(name, settings).build(MODELS, &context).unwrap()
        };
        let batch = numbers(&[3, 1, 16, 16]);
        let classes = || Target::Classes(5);
        let row = Tensor::from_slice(&[1_i64, 2, 3, 4]).view([2, 2]);
        vec![
            ("MLP", of("MLP", &[], &image, classes()), batch.shallow_clone()),
            ("LeNet", of("LeNet", &[], &image, classes()), batch.shallow_clone()),
            ("ResNet", of("ResNet", &resnet, &image, classes()), batch.shallow_clone()),
            ("ResNet", of("ResNet", &bottleneck, &image, classes()), batch.shallow_clone()),
            ("GPT", of("GPT", &tokens, &[2], Target::Tokens(7)), row),
            (
                "Sequential",
                of("Sequential", &[("layers", Value::List(layers))], &image, classes()),
                batch,
            ),
        ]
    }

    fn names(model: &dyn Model) -> Vec<&str> {
        model.info().layers.iter().map(LayerOutput::name).collect()
    }

    #[test]
    fn every_parameter_of_a_built_in_model_belongs_to_a_layer_that_leaves_its_output() {
        for (name, model, input) in models() {
            model.info().layers.iter().for_each(LayerOutput::want);
            let output = model.forward(&input, Mode::Eval).unwrap();
            for param in model.params() {
                let (layer, _) = param.name.rsplit_once('.').unwrap();
                assert!(names(model.as_ref()).contains(&layer), "{name}: no layer `{layer}`");
            }
            for layer in &model.info().layers {
                assert!(layer.output().is_some(), "{name}: `{}` left no output", layer.name());
            }
            let last = ["layers.1", "fc3", "fc", "lm_head", "layers.4"];
            let mut found = model.info().layers.iter().filter(|layer| last.contains(&layer.name()));
            let is_output = |layer: &LayerOutput| layer.output().unwrap() == output;
            assert!(
                found.next_back().is_some_and(is_output),
                "{name}: the last layer's is the model's"
            );
        }
    }

    /// In-place operations that would change a kept output are avoided; the results are the same.
    #[test]
    fn a_kept_output_is_the_layer_s_and_the_model_s_is_unchanged() {
        for (name, model, input) in models() {
            let plain = model.forward(&input, Mode::Eval).unwrap();
            model.info().layers.iter().for_each(LayerOutput::want);
            assert_eq!(model.forward(&input, Mode::Eval).unwrap(), plain, "{name}");
            let named = |name: &str| {
                let found = model.info().layers.iter().find(|layer| layer.name() == name);
                found.and_then(LayerOutput::output)
            };
            let Some(norm) = named("layer1.0.bn1") else { continue };
            assert!(norm.min().double_value(&[]) < 0.0, "a norm's output is not yet rectified");
            let (block, group) = (named("layer1.1").unwrap(), named("layer1").unwrap());
            if names(model.as_ref()).contains(&"layer1.2") {
                assert_ne!(block, group);
            } else {
                assert_eq!(block, group, "a group's output is that of its last block");
            }
            assert!(block.min().double_value(&[]) >= 0.0, "a block's output is rectified");
        }
    }

    #[test]
    fn outputs_are_kept_only_between_request_and_release() {
        let (_, model, input) = models().remove(0);
        let layers = &model.info().layers;
        let _ = model.forward(&input, Mode::Eval).unwrap();
        assert!(layers.iter().all(|layer| layer.output().is_none()));
        layers[0].want();
        let _ = model.forward(&input, Mode::Eval).unwrap();
        assert_eq!(layers.iter().filter(|layer| layer.output().is_some()).count(), 1);
        layers[0].clear();
        assert!(layers[0].output().is_none());
    }
}
