//! Every model against PyTorch's golden outputs and gradients for the same weights.

use hookrack_plugin_api::Value;
use serde::Deserialize;
use tch::{Device, Kind, Tensor};

use super::*;
use crate::engine::data::Target;
use crate::engine::registry::Choice;
use crate::engine::tree::Tree;
use crate::torch::autograd::{self, GradMode};
use crate::torch::rng;

#[derive(Deserialize)]
struct Golden {
    inits: Vec<Drawn>,
    cases: Vec<Case>,
}

/// What an `init` draws with seed 7.
#[derive(Deserialize)]
struct Drawn {
    init: Init,
    kernel: Vec<f64>,
    matrix: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

#[derive(Deserialize)]
struct Case {
    r#type: String,
    settings: Tree,
    input: Vec<i64>,
    classes: i64,
    batch: i64,
    output: Vec<f64>,
    output_shape: Vec<i64>,
    loss: f64,
    params: Vec<Sample>,
    buffers: Vec<Sample>,
}

impl Case {
    /// A shape of one side is a row of tokens.
    fn takes_tokens(&self) -> bool {
        self.input.len() == 1
    }
}

/// A tensor, or its gradient, by its norm and a few of its values.
#[derive(Deserialize)]
struct Sample {
    name: String,
    shape: Vec<i64>,
    norm: f64,
    values: Vec<f64>,
}

/// The script's `bits`.
fn bits(count: i64, stream: usize) -> Vec<u32> {
    let start = u32::try_from(stream + 1).unwrap().wrapping_mul(97_003);
    let hash = |i: i64| {
        let i = u32::try_from(i).unwrap();
        let mut x = i.wrapping_mul(2_654_435_761).wrapping_add(start);
        x = (x ^ (x >> 16)).wrapping_mul(2_246_822_519);
        x = (x ^ (x >> 13)).wrapping_mul(3_266_489_917);
        x ^ (x >> 16)
    };
    (0..count).map(hash).collect()
}

/// The script's `numbers`.
fn numbers(shape: &[i64], stream: usize) -> Tensor {
    let bits = bits(shape.iter().product(), stream);
    let values: Vec<f64> =
        bits.into_iter().map(|x| f64::from(x) / 2.0_f64.powi(32) - 0.5).collect();
    Tensor::from_slice(&values).view(shape)
}

/// The script's `fill`.
fn fill(named: &NamedTensor, stream: usize) {
    let _no_grad = GradMode::set(false);
    let shape = named.tensor.size();
    let values = numbers(&shape, stream);
    let is_scale = named.name.ends_with(".weight") || named.name.ends_with(".running_var");
    let values = match shape.len() {
        0 => return,
        1 if is_scale => 1.0 + 0.5 * values,
        1 => values,
        _ => {
            values
                * (12.0 / f64::from(i32::try_from(shape[1..].iter().product::<i64>()).unwrap()))
                    .sqrt()
        }
    };
    named.tensor.shallow_clone().copy_(&values);
}

fn build(case: &Case) -> Box<dyn Model> {
    let target = if case.takes_tokens() { Target::Tokens } else { Target::Classes };
    let data = DataSpec { input: case.input.clone(), target: target(case.classes) };
    let choice = Choice { name: case.r#type.clone(), settings: case.settings.0.clone() };
    choice.build("model", MODELS, &ModelContext { data, device: Device::Cpu }).unwrap()
}

fn model(name: &str, input: &[i64], settings: &[(&str, Value)]) -> Result<Box<dyn Model>> {
    let data = DataSpec { input: input.to_vec(), target: Target::Classes(10) };
    let context = ModelContext { data, device: Device::Cpu };
    Choice::new(name, settings).build("model", MODELS, &context)
}

/// Within 1e-5 of the largest number that is compared: two orders of one sum differ by as much in floats.
fn same(found: &[f64], wanted: &[f64], told: &str) {
    let largest = wanted.iter().fold(1e-3_f64, |most, value| most.max(value.abs()));
    assert_eq!(found.len(), wanted.len(), "{told}");
    for (found, wanted) in found.iter().zip(wanted) {
        let near = (found - wanted).abs() <= 1e-5 * largest;
        assert!(near, "{told}: {found}, not {wanted}; the largest is {largest}");
    }
}

fn flat(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.detach().to_kind(Kind::Double).contiguous().view(-1)).unwrap()
}

fn same_sample(found: &Tensor, wanted: &Sample, told: &str) {
    let (values, told) = (flat(found), format!("{told} {}", wanted.name));
    let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let mut few: Vec<f64> = (0..6).map(|i| values[i * (values.len() - 1) / 5]).collect();
    few.push(norm);
    let mut golden = wanted.values.clone();
    golden.push(wanted.norm);
    same(&few, &golden, &told);
}

#[test]
fn outputs_and_gradients_are_pytorchs() {
    let _alone = rng::TEST_LOCK.lock();
    for case in golden().cases {
        let told = format!("{} {:?}", case.r#type, case.settings.0);
        let model = build(&case);
        let tensors: Vec<_> = model.params().iter().chain(model.buffers()).collect();
        let named: Vec<_> =
            tensors.iter().map(|named| (named.name.clone(), named.tensor.size())).collect();
        let wanted: Vec<_> = case.params.iter().chain(&case.buffers).collect();
        let golden: Vec<_> =
            wanted.iter().map(|sample| (sample.name.clone(), sample.shape.clone())).collect();
        assert_eq!(named, golden, "{told}");
        tensors.iter().enumerate().for_each(|(stream, named)| fill(named, stream));

        let shape: Vec<i64> = [&[case.batch], case.input.as_slice()].concat();
        let input = if case.takes_tokens() {
            let tokens = bits(shape.iter().product(), tensors.len()).into_iter();
            let tokens: Vec<i64> = tokens.map(|bits| i64::from(bits) % case.classes).collect();
            Tensor::from_slice(&tokens).view(shape.as_slice())
        } else {
            numbers(&shape, tensors.len()).to_kind(Kind::Float)
        };
        let output = model.forward(&input, Mode::Eval).unwrap();
        assert_eq!(output.size(), case.output_shape, "{told}");
        assert_eq!(&output.size()[1..], model.output_shape(), "{told}");
        same(&flat(&output), &case.output, &told);

        let factors = numbers(&case.output_shape, tensors.len() + 1).to_kind(Kind::Float);
        let loss = (model.forward(&input, Mode::Train).unwrap() * factors).mean(Kind::Float);
        same(&[loss.double_value(&[])], &[case.loss], &told);
        autograd::backward(&loss).unwrap();
        for (named, wanted) in model.params().iter().zip(&case.params) {
            same_sample(&named.tensor.grad(), wanted, &told);
        }
        for (named, wanted) in model.buffers().iter().zip(&case.buffers) {
            same_sample(&named.tensor, wanted, &told);
        }
    }
}

#[test]
fn one_seed_draws_the_values_of_torch_nn_init() {
    let _alone = rng::TEST_LOCK.lock();
    for Drawn { init, kernel, matrix } in golden().inits {
        let drawn = |shape: &[i64], fans| {
            rng::seed(7);
            flat(&init.draw(fans).unwrap().values(shape, Device::Cpu).unwrap())
        };
        let told = format!("{init:?}");
        same(&drawn(&[4, 3, 2, 2], Fans { into: 12, out: 16 }), &kernel, &told);
        same(&drawn(&[7, 5], Fans { into: 5, out: 7 }), &matrix, &told);
    }
}

#[test]
fn a_chosen_init_changes_weights_and_biases_but_no_norm() {
    let _alone = rng::TEST_LOCK.lock();
    let init = Value::Table(vec![("type".into(), "normal".into()), ("std".into(), 0.5.into())]);
    let settings = [("width", 8_i64.into()), ("init", init)];
    let model = model("ResNet", &[1, 8, 8], &settings).unwrap();
    let spread = |name: &str| {
        let found = model.params().iter().find(|param| param.name == name).unwrap();
        found.tensor.std(false).double_value(&[])
    };
    assert!((spread("layer4.0.conv2.weight") - 0.5).abs() < 0.01);
    assert!((spread("fc.weight") - 0.5).abs() < 0.05);
    assert!(spread("fc.bias").abs() < 1e-9 && spread("layer4.0.bn1.weight").abs() < 1e-9);
}

#[test]
fn a_number_that_an_init_does_not_have_is_refused_by_every_model() {
    for (kind, key) in [("xavier_uniform", "std"), ("normal", "gain"), ("default", "std")] {
        let init = Value::Table(vec![("type".into(), kind.into()), (key.into(), 1.0.into())]);
        for name in ["MLP", "LeNet", "ResNet"] {
            let error = model(name, &[1, 28, 28], &[("init", init.clone())]).err().unwrap();
            let wanted = format!(
                "model `{name}`: init.{key} means nothing to an init of this type: leave it out"
            );
            assert_eq!(error.to_string(), wanted);
        }
    }
}
