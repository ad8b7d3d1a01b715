//! Every optimizer against PyTorch's golden parameters, and the guarantees of all of them about state and groups.

use std::collections::BTreeMap;

use hookrack_plugin_api::Value;
use serde::Deserialize;
use tch::{Kind, Tensor};

use super::*;
use crate::named_tensor::{NamedTensor, load};
use crate::registry::{Build as _, Choice};
use crate::tensor_shard::InMemory;
use crate::tree::Tree;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::rounding;

type Kept = BTreeMap<u32, BTreeMap<String, Vec<f64>>>;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    r#type: String,
    settings: Tree,
    kept: Kept,
}

fn golden() -> Vec<Case> {
    serde_json::from_str::<Golden>(include_str!("golden.json")).unwrap().cases
}

/// As `START` in `scripts/golden/optimizers.py`.
fn start(kind: Kind) -> Vec<NamedTensor> {
    let tensor = |values: &[f64], shape: &[i64]| {
        Tensor::from_slice(values).view(shape).to_kind(kind).set_requires_grad(true)
    };
    vec![
        NamedTensor::new("weight", tensor(&[1.0, -2.0, 0.5, 3.0, -0.25, 0.75], &[2, 3])),
        NamedTensor::new("bias", tensor(&[0.1, -1.5, 2.0, -0.6], &[4])),
    ]
}

/// As `gradient` in `scripts/golden/optimizers.py`.
fn backward(param: &Tensor, step: u32) {
    let count = i64::try_from(param.numel()).unwrap();
    let index = Tensor::arange(count, tch::kind::DOUBLE_CPU).view(param.size().as_slice());
    let target = (index + f64::from(step)).sin().to_kind(param.kind());
    let grad = (param.detach() - target) * 0.5;
    autograd::backward_from(&(param * 1.0), &grad).unwrap();
}

fn run(
    optimizer: &mut dyn Optimizer,
    params: &[NamedTensor],
    steps: std::ops::RangeInclusive<u32>,
) {
    for step in steps {
        optimizer.zero_grad().unwrap();
        for param in params {
            backward(&param.tensor, step);
        }
        optimizer.step().unwrap();
    }
}

fn build(name: &str, settings: &Value, params: &[NamedTensor]) -> Box<dyn Optimizer> {
    let choice = Choice { name: name.to_owned(), settings: settings.clone() };
    choice.build(OPTIMIZERS, &ParamSet::whole(params)).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.detach().flatten(0, -1).to_kind(Kind::Double)).unwrap()
}

/// Rounds every number of a tensor as if once to a float, in one of some ways; each number is as large as that of `sizes`.
fn nudge(tensor: &Tensor, sizes: &Tensor, pattern: u32, step: u32) {
    let _no_grad = GradMode::set(false);
    let nudges = Tensor::from_slice(&rounding::nudges(pattern, step, tensor.numel()));
    let _ =
        tensor.shallow_clone().f_add_(&(nudges.view(tensor.size().as_slice()) * sizes)).unwrap();
}

/// A step in doubles in which the gradient and the new parameters are rounded to floats.
fn rough_step(optimizer: &mut dyn Optimizer, params: &[NamedTensor], step: u32, pattern: u32) {
    optimizer.zero_grad().unwrap();
    let sizes = |param: &NamedTensor| param.tensor.detach().abs();
    for param in params {
        backward(&param.tensor, step);
        // The difference of a parameter and a sine.
        nudge(&param.tensor.grad(), &sizes(param).clamp_min(1.0), pattern, 2 * step);
    }
    let before: Vec<Tensor> = params.iter().map(sizes).collect();
    optimizer.step().unwrap();
    for (param, before) in params.iter().zip(before) {
        nudge(&param.tensor, &sizes(param).maximum(&before), pattern, 2 * step + 1);
    }
}

/// How far the parameters of each kept step move when one rounding is made in every step, in the worst of some ways.
fn moved_by_one_rounding(case: &Case) -> BTreeMap<(u32, String), f64> {
    let mut worst = BTreeMap::new();
    for pattern in 0..rounding::PATTERNS {
        let params = start(Kind::Double);
        let mut optimizer = build(&case.r#type, &case.settings.0, &params);
        for step in 1..=50 {
            rough_step(optimizer.as_mut(), &params, step, pattern);
            let Some(wanted) = case.kept.get(&step) else { continue };
            for param in &params {
                let off = furthest(&numbers(&param.tensor), &wanted[&param.name]);
                let worst = worst.entry((step, param.name.clone())).or_insert(0.0_f64);
                *worst = worst.max(off);
            }
        }
    }
    worst
}

fn furthest(found: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let off = found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).abs());
    // `max` would pass over a NaN.
    off.fold(0.0, |worst, off| if off <= worst { worst } else { off })
}

/// Runs a case, and holds the parameters of each kept step against the golden ones.
fn follow(case: &Case, kind: Kind, tolerance: impl Fn(u32, &str, &[f64]) -> f64) {
    let params = start(kind);
    let mut optimizer = build(&case.r#type, &case.settings.0, &params);
    let mut done = 0;
    for (step, wanted) in &case.kept {
        run(optimizer.as_mut(), &params, done + 1..=*step);
        done = *step;
        for param in &params {
            let wanted = &wanted[&param.name];
            let off = furthest(&numbers(&param.tensor), wanted);
            let allowed = tolerance(*step, &param.name, wanted);
            let (name, settings) = (&param.name, &case.settings.0);
            assert!(
                off <= allowed,
                "{} {settings:?} {kind:?}: {name} is off by {off:e} at step {step}, and {allowed:e} is allowed",
                case.r#type
            );
        }
    }
    assert_eq!(done, 50);
}

#[test]
fn fifty_steps_are_pytorchs() {
    for case in golden() {
        let largest = |wanted: &[f64]| wanted.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        follow(&case, Kind::Double, |_, _, wanted| rounding::DOUBLES * largest(wanted));
    }
}

/// The most roundings that one step of any optimizer makes on the way to a parameter: LAMB's, with two norms over six numbers, two
/// averages and their corrections.
const ROUNDINGS: f64 = 40.0;

#[test]
fn fifty_steps_in_floats_are_those_in_doubles_but_for_rounding() {
    for case in golden() {
        let moved = moved_by_one_rounding(&case);
        follow(&case, Kind::Float, |step, name, _| {
            let tolerance = ROUNDINGS * moved[&(step, name.to_owned())];
            assert!(tolerance < 1e-2, "{}: {tolerance:e} would tell nothing", case.r#type);
            tolerance
        });
    }
}

#[test]
fn every_optimizer_is_compared() {
    let compared: Vec<String> = golden().into_iter().map(|case| case.r#type).collect();
    for entry in OPTIMIZERS {
        assert!(compared.iter().any(|name| name == entry.name), "{} is not", entry.name);
    }
}

#[test]
fn a_restored_state_continues_bit_for_bit() {
    for case in golden() {
        let (first, second) = (start(Kind::Float), start(Kind::Float));
        let mut original = build(&case.r#type, &case.settings.0, &first);
        let mut restored = build(&case.r#type, &case.settings.0, &second);
        run(original.as_mut(), &first, 1..=5);
        let saved = original.state();
        let kept = saved.iter().map(|named| (named.name.clone(), named.tensor.copy()));
        let kept: Vec<_> = kept.map(|(name, tensor)| NamedTensor::new(name, tensor)).collect();
        let pieces: Vec<_> = second.iter().cloned().map(TensorShard::from).collect();
        load("model", &pieces, &InMemory::new(&first)).unwrap();
        run(original.as_mut(), &first, 6..=10);
        restored.load_state(&InMemory::new(&kept)).unwrap();
        run(restored.as_mut(), &second, 6..=10);
        for (first, second) in first.iter().zip(&second) {
            assert_eq!(first.tensor, second.tensor, "{} {:?}", case.r#type, case.settings.0);
        }
    }
}

#[test]
fn state_is_named_after_parameter_and_kind() {
    let names = |name: &str, settings: &[(&str, Value)]| {
        let params = start(Kind::Float);
        let choice = Choice::new(name, settings);
        let mut optimizer = choice.build(OPTIMIZERS, &ParamSet::whole(&params)).unwrap();
        run(optimizer.as_mut(), &params, 1..=1);
        let names = optimizer.state().into_iter().map(|named| named.name);
        names.filter_map(|name| name.strip_prefix("bias.").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(names("Adam", &[("amsgrad", true.into())]).len(), 4);
    assert_eq!(names("AdamW", &[]), ["step", "exp_avg", "exp_avg_sq"]);
    assert_eq!(names("Adagrad", &[]), ["step", "sum"]);
    assert_eq!(names("RMSprop", &[]), ["square_avg"]);
    let all = [("centered", true.into()), ("momentum", 0.9.into())];
    assert_eq!(names("RMSprop", &all), ["square_avg", "grad_avg", "momentum_buffer"]);
    assert_eq!(names("LAMB", &[]), ["step", "exp_avg", "exp_avg_sq"]);
    assert_eq!(names("LARS", &[]), ["momentum_buffer"]);
    assert!(names("LARS", &[("momentum", 0.0.into())]).is_empty());
    assert_eq!(names("Lion", &[]), ["exp_avg"]);
}

#[test]
fn gradients_are_left_as_they_are_and_none_means_no_step() {
    for entry in OPTIMIZERS {
        let params = start(Kind::Float);
        let settings = Value::Table(vec![("weight_decay".into(), 0.1.into())]);
        let mut optimizer = build(entry.name, &settings, &params);
        optimizer.step().unwrap();
        assert_eq!(numbers(&params[1].tensor), numbers(&start(Kind::Float)[1].tensor));
        backward(&params[0].tensor, 1);
        let before = params[0].tensor.grad().copy();
        optimizer.step().unwrap();
        assert_eq!(params[0].tensor.grad(), before, "{}", entry.name);
        assert_ne!(params[0].tensor, start(Kind::Float)[0].tensor, "{}", entry.name);
        assert_eq!(params[1].tensor, start(Kind::Float)[1].tensor, "{}", entry.name);
        let state = optimizer.state();
        let mut steps = state.iter().filter(|named| named.name == "bias.step");
        assert!(steps.all(|named| named.tensor.double_value(&[]) == 0.0), "{}", entry.name);
    }
}

#[test]
fn a_state_without_what_is_needed_is_refused() {
    let mut optimizer = build("AdamW", &Value::empty(), &start(Kind::Float));
    let error = optimizer.load_state(&InMemory::new(&[])).unwrap_err().to_string();
    assert!(error.starts_with("the saved optimizer does not match: `weight.step` is missing"));
}

#[test]
fn the_switch_leaves_biases_without_decay_in_every_optimizer() {
    for entry in OPTIMIZERS {
        let after = |decay: f64, switch: bool| {
            let params = start(Kind::Float);
            let settings = [("lr", 0.05.into()), ("weight_decay", decay.into())];
            let rules = GroupRules { no_decay_on_norm_and_bias: switch, ..GroupRules::default() };
            let params_in_groups = ParamSet::new(&params, rules).unwrap();
            let choice = Choice::new(entry.name, &settings);
            let mut optimizer = choice.build(OPTIMIZERS, &params_in_groups).unwrap();
            assert_eq!(optimizer.groups().len(), if switch { 2 } else { 1 });
            run(optimizer.as_mut(), &params, 1..=3);
            [numbers(&params[0].tensor), numbers(&params[1].tensor)]
        };
        let (switched, with, without) = (after(0.5, true), after(0.5, false), after(0.0, false));
        assert_eq!([&switched[0], &switched[1]], [&with[0], &without[1]], "{}", entry.name);
        assert_ne!(with[1], without[1], "{}", entry.name);
    }
}

#[test]
fn weights_at_zero_can_leave_it() {
    for name in ["LAMB", "LARS"] {
        let param = Tensor::zeros([3], tch::kind::FLOAT_CPU).set_requires_grad(true);
        let params = [NamedTensor::new("w", param)];
        let mut optimizer = build(name, &Value::empty(), &params);
        run(optimizer.as_mut(), &params, 1..=1);
        let moved = numbers(&params[0].tensor);
        assert!(moved.iter().all(|x| x.is_finite() && *x != 0.0), "{name}: {moved:?}");
    }
}

#[test]
fn wrong_betas_are_reported() {
    for (name, betas) in [
        ("Adam", vec![0.9, 1.0]),
        ("AdamW", vec![0.9]),
        ("LAMB", vec![]),
        ("Lion", vec![0.9, -1.0]),
    ] {
        let choice = Choice::new(name, &[("betas", betas.clone().into())]);
        let error = choice.build(OPTIMIZERS, &ParamSet::whole(&start(Kind::Float))).err().unwrap();
        let wanted = format!("optimizer `{name}`: betas = {betas:?}: must be two numbers in 0..1");
        assert_eq!(error.to_string(), wanted);
    }
}

/// A run in which the bias is frozen for the first steps, against one in which it never was.
#[test]
fn a_parameter_admitted_late_steps_like_one_that_starts_then() {
    for entry in OPTIMIZERS {
        let settings = Value::Table(vec![("weight_decay".into(), 0.1.into())]);
        let late = start(Kind::Float);
        let _ = late[1].tensor.set_requires_grad(false);
        let mut optimizer = build(entry.name, &settings, &late);
        run(optimizer.as_mut(), &late[..1], 1..=3);
        let of_bias = |optimizer: &dyn Optimizer| {
            optimizer.state().iter().filter(|named| named.name.starts_with("bias.")).count()
        };
        assert_eq!(of_bias(optimizer.as_ref()), 0, "{}", entry.name);
        let _ = late[1].tensor.set_requires_grad(true);
        optimizer.admit().unwrap();
        run(optimizer.as_mut(), &late, 4..=6);

        let fresh = start(Kind::Float);
        let mut alone = build(entry.name, &settings, &fresh[1..]);
        run(alone.as_mut(), &fresh[1..], 4..=6);
        assert_eq!(late[1].tensor, fresh[1].tensor, "{}", entry.name);
        assert_eq!(of_bias(optimizer.as_ref()), of_bias(alone.as_ref()), "{}", entry.name);
    }
}
