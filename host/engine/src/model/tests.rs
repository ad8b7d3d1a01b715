//! Every model against PyTorch's golden outputs and gradients for the same weights, in doubles; and in floats against doubles.

use hookrack_plugin_api::Value;
use serde::Deserialize;
use tch::{Device, Kind, Tensor};

use super::*;
use crate::data::Target;
use crate::registry::{Build as _, Choice};
use crate::tree::Tree;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::rng;
use hookrack_torch::rounding;

#[derive(Deserialize)]
struct Golden {
    inits: Vec<Drawn>,
    cases: Vec<Case>,
}

/// What an `init` draws with seed 7.
#[derive(Deserialize)]
struct Drawn {
    init: Init,
    condition: f64,
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
    choice.build(MODELS, &ModelContext::new(data, Device::Cpu)).unwrap()
}

fn model(name: &str, input: &[i64], settings: &[(&str, Value)]) -> Result<Box<dyn Model>> {
    let data = DataSpec { input: input.to_vec(), target: Target::Classes(10) };
    let context = ModelContext::new(data, Device::Cpu);
    Choice::new(name, settings).build(MODELS, &context)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// Within a share of the largest number that is compared.
fn same(found: &[f64], wanted: &[f64], tolerance: f64, told: &str) {
    let largest = largest(wanted).max(1e-3);
    assert_eq!(found.len(), wanted.len(), "{told}");
    for (found, wanted) in found.iter().zip(wanted) {
        let off = (found - wanted).abs();
        assert!(
            off <= tolerance * largest,
            "{told}: {found}, not {wanted}: off by {off:e}, the largest is {largest}, and {tolerance:e} of it is allowed"
        );
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
    same(&few, &golden, rounding::DOUBLES, &told);
}

/// What goes into the model, as the script makes it, in doubles or as tokens.
fn input(case: &Case, stream: usize) -> Tensor {
    let shape: Vec<i64> = [&[case.batch], case.input.as_slice()].concat();
    if !case.takes_tokens() {
        return numbers(&shape, stream);
    }
    let tokens = bits(shape.iter().product(), stream).into_iter();
    let tokens: Vec<i64> = tokens.map(|bits| i64::from(bits) % case.classes).collect();
    Tensor::from_slice(&tokens).view(shape.as_slice())
}

fn tensors(model: &dyn Model) -> Vec<&NamedTensor> {
    model.params().iter().chain(model.buffers()).collect()
}

fn fill_all(model: &dyn Model) {
    tensors(model).iter().enumerate().for_each(|(stream, named)| fill(named, stream));
}

#[test]
fn outputs_and_gradients_are_pytorchs() {
    for case in golden().cases {
        let told = format!("{} {:?}", case.r#type, case.settings.0);
        let model = build(&case);
        widen(model.as_ref(), Kind::Double).unwrap();
        let named: Vec<_> = tensors(model.as_ref())
            .iter()
            .map(|named| (named.name.clone(), named.tensor.size()))
            .collect();
        let wanted: Vec<_> = case.params.iter().chain(&case.buffers).collect();
        let golden: Vec<_> =
            wanted.iter().map(|sample| (sample.name.clone(), sample.shape.clone())).collect();
        assert_eq!(named, golden, "{told}");
        fill_all(model.as_ref());

        let input = input(&case, named.len());
        let output = model.forward(&input, Mode::Eval).unwrap();
        assert_eq!((output.kind(), output.size()), (Kind::Double, case.output_shape.clone()));
        assert_eq!(&output.size()[1..], model.output_shape(), "{told}");
        same(&flat(&output), &case.output, rounding::DOUBLES, &told);

        let factors = numbers(&case.output_shape, named.len() + 1);
        let loss = (model.forward(&input, Mode::Train).unwrap() * factors).mean(Kind::Double);
        same(&[loss.double_value(&[])], &[case.loss], rounding::DOUBLES, &told);
        autograd::backward(&loss).unwrap();
        for (named, wanted) in model.params().iter().zip(&case.params) {
            same_sample(&named.tensor.grad(), wanted, &told);
        }
        for (named, wanted) in model.buffers().iter().zip(&case.buffers) {
            same_sample(&named.tensor, wanted, &told);
        }
    }
}

/// The most terms of a sum in a model: what a row or a column of a weight is multiplied with.
fn longest_sum(model: &dyn Model) -> i64 {
    let sides = |param: &NamedTensor| {
        let shape = param.tensor.size();
        let outputs = shape.first().copied().unwrap_or(1);
        if shape.len() < 2 { 1 } else { outputs.max(shape.iter().product::<i64>() / outputs) }
    };
    model.params().iter().map(sides).max().unwrap_or(1)
}

/// How far outputs in doubles move when every weight and every input is rounded once to a float, in the worst of some ways.
fn moved_by_one_rounding(model: &dyn Model, input: &Tensor, wanted: &[f64]) -> f64 {
    let _no_grad = GradMode::set(false);
    let mut worst = 0.0_f64;
    for pattern in 0..rounding::PATTERNS {
        let nudged = |tensor: &Tensor, step: u32| {
            let nudges = rounding::nudges(pattern, step, tensor.numel());
            tensor * (Tensor::from_slice(&nudges).view(tensor.size().as_slice()) + 1.0)
        };
        fill_all(model);
        for (step, named) in (1..).zip(tensors(model)) {
            if named.tensor.is_floating_point() {
                named.tensor.shallow_clone().copy_(&nudged(&named.tensor, step));
            }
        }
        let input =
            if input.is_floating_point() { nudged(input, 0) } else { input.shallow_clone() };
        let output = flat(&model.forward(&input, Mode::Eval).unwrap());
        let off: Vec<f64> = output.iter().zip(wanted).map(|(a, b)| a - b).collect();
        worst = worst.max(largest(&off));
    }
    worst
}

/// Gradients are left to doubles: where a pre-activation is within a rounding of 0, ReLU's are another's in floats.
#[test]
fn outputs_in_floats_are_those_in_doubles_but_for_rounding() {
    for case in golden().cases {
        let told = format!("{} {:?} in floats", case.r#type, case.settings.0);
        let (narrow, wide) = (build(&case), build(&case));
        widen(wide.as_ref(), Kind::Double).unwrap();
        fill_all(narrow.as_ref());
        let input = input(&case, tensors(wide.as_ref()).len());
        let moved = moved_by_one_rounding(wide.as_ref(), &input, &case.output);
        let input = if case.takes_tokens() { input } else { input.to_kind(Kind::Float) };
        let output = narrow.forward(&input, Mode::Eval).unwrap();
        assert_eq!(output.kind(), Kind::Float, "{told}");
        // A sum of n products is the exact one of numbers that are off by n roundings each (Higham, section 3.1).
        let terms = f64::from(i32::try_from(longest_sum(wide.as_ref())).unwrap());
        let tolerance = terms * moved / largest(&case.output);
        assert!(tolerance < 1e-3, "{told}: a tolerance of {tolerance:e} would tell nothing");
        same(&flat(&output), &case.output, tolerance, &told);
    }
}

/// The roundings between two implementations of a draw. Box and Muller's normal is a radius of up to 5.8 (2^-24 is the least that it is
/// drawn from) times the cosine of an angle of up to 2π: a rounding of the angle is 5.8 · 2π ≈ 37 of the product's; logarithm, root and
/// products are the rest.
const DRAW: u32 = 64;

#[test]
fn one_seed_draws_the_values_of_torch_nn_init() {
    for Drawn { init, condition, kernel, matrix } in golden().inits {
        let drawn = |shape: &[i64], fans| {
            rng::seed(7);
            flat(&init.initializer(fans).unwrap().values(shape, Device::Cpu).unwrap())
        };
        let told = format!("{init:?}");
        // Householder's QR is off by about a rounding for each number, and magnifies all of them by the condition.
        let tolerance = |numbers: u32| {
            let solved = if condition > 1.0 { numbers } else { 0 };
            rounding::gamma(DRAW + solved) * condition
        };
        same(&drawn(&[4, 3, 2, 2], Fans { into: 12, out: 16 }), &kernel, tolerance(48), &told);
        same(&drawn(&[7, 5], Fans { into: 5, out: 7 }), &matrix, tolerance(35), &told);
    }
}

#[test]
fn a_chosen_init_changes_weights_and_biases_but_no_norm() {
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
                "model `{name}`: init.{key} does not apply to an init of this type: remove it"
            );
            assert_eq!(error.to_string(), wanted);
        }
    }
}
