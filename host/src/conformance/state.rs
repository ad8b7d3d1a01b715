//! State: saved, restored, and damaged in a checkpoint.

use super::points::{instance, with_context};
use super::{Case, CaseEnv, Outcome, ensure};
use crate::context::Context;
use crate::engine::SavedState;
use crate::engine::data::Prng;
use crate::plugins::{HookType, Instance, gather, give_back};
use hookrack_plugin_api::{Point, Value};
use std::rc::Rc;

pub(super) static CASES: &[Case] = &[
    Case::new("state.save_at_once", "State can be saved before the first point.", at_once),
    Case::new("state.save_twice", "Saving twice gives the same state.", twice),
    Case::new(
        "state.round_trip",
        "State that is restored and saved again does not change.",
        round_trip,
    ),
    Case::new(
        "state.into_used",
        "State can be restored into an instance that has been called.",
        into_used,
    ),
    Case::new("state.empty", "An empty state causes no crash.", empty),
    Case::new("state.missing_key", "A state without one of its keys causes no crash.", missing_key),
    Case::new("state.extra_key", "A state with an additional key causes no crash.", extra_key),
    Case::new(
        "state.wrong_types",
        "A state with values of other types causes no crash.",
        wrong_types,
    ),
    Case::new("state.random", "A state of random texts and numbers causes no crash.", random),
    Case::new(
        "state.random_trees",
        "A state of random nested lists and tables causes no crash.",
        random_trees,
    ),
    Case::new(
        "state.random_bytes",
        "Tensors of random bytes, of any type, in a state cause no crash.",
        random_bytes,
    ),
    Case::new(
        "state.other_shapes",
        "A state with tensors of other shapes causes no crash.",
        other_shapes,
    ),
    Case::new("state.declared", "A hook that saves state declares it.", declared),
];

fn save(context: &Context, instance: &Instance) -> Result<SavedState, String> {
    gather(context, |writer| instance.save_state(writer)).map_err(|failure| failure.why)
}

fn load(context: &Context, instance: &mut Instance, state: &SavedState) -> Outcome {
    give_back(context, state, |reader| instance.load_state(reader))
}

/// Whether two states are the same in a checkpoint.
fn same(one: &SavedState, other: &SavedState) -> bool {
    let numbers = |state: &SavedState| -> Vec<(String, Vec<i64>, Vec<f64>)> {
        let tensors = state.tensors.iter();
        let flat = |tensor: &tch::Tensor| {
            Vec::<f64>::try_from(tensor.detach().to_kind(tch::Kind::Double).flatten(0, -1))
        };
        tensors.map(|(name, it)| (name.clone(), it.size(), flat(it).unwrap_or_default())).collect()
    };
    format!("{:?}{:?}", one.values, numbers(one))
        == format!("{:?}{:?}", other.values, numbers(other))
}

/// Calls a hook at some of its points; errors are ignored.
fn used(hook: &HookType, context: &Rc<Context>) -> Result<Instance, String> {
    let mut instance = instance(hook, context)?;
    let points = [Point::OnAttach, Point::BeforeRun, Point::BeforeTrain, Point::AfterTrainIter];
    for point in points.into_iter().filter(|point| hook.manifest.points.contains(point)) {
        instance.on_point(point);
    }
    Ok(instance)
}

/// Loads the state that `change` modified into a new instance, which may refuse it.
fn offered(case: &CaseEnv, change: impl Fn(SavedState) -> Vec<SavedState>) -> Outcome {
    with_context(case, |hook, context| {
        let Ok(state) = save(context, &used(hook, context)?) else { return Ok(()) };
        for changed in change(state) {
            let mut fresh = instance(hook, context)?;
            let _ = load(context, &mut fresh, &changed);
            // It must survive calls and a save afterwards, even if it refused the state.
            fresh.on_point(Point::AfterTrainIter);
            let _ = save(context, &fresh);
        }
        Ok(())
    })
}

fn at_once(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| save(context, &instance(hook, context)?).map(drop))
}

fn twice(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| {
        let used = used(hook, context)?;
        let (first, second) = (save(context, &used)?, save(context, &used)?);
        ensure(same(&first, &second), || "the second state differs".to_owned())
    })
}

fn round_trip(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| {
        let state = save(context, &used(hook, context)?)?;
        let mut fresh = instance(hook, context)?;
        load(context, &mut fresh, &state)?;
        ensure(same(&state, &save(context, &fresh)?), || "the state differs".to_owned())
    })
}

fn into_used(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| {
        let state = save(context, &used(hook, context)?)?;
        let mut other = used(hook, context)?;
        load(context, &mut other, &state)?;
        ensure(same(&state, &save(context, &other)?), || {
            "some of the previous state remains".to_owned()
        })
    })
}

fn empty(case: &CaseEnv) -> Outcome {
    offered(case, |_| vec![SavedState::default()])
}

fn copy(state: &SavedState) -> SavedState {
    let tensors = state.tensors.iter().map(|(name, it)| (name.clone(), it.shallow_clone()));
    SavedState { values: state.values.clone(), tensors: tensors.collect() }
}

fn missing_key(case: &CaseEnv) -> Outcome {
    offered(case, |state| {
        let values = state.values.keys().map(|key| {
            let mut without = copy(&state);
            without.values.remove(key);
            without
        });
        let tensors = state.tensors.keys().map(|key| {
            let mut without = copy(&state);
            without.tensors.remove(key);
            without
        });
        values.chain(tensors).collect()
    })
}

fn extra_key(case: &CaseEnv) -> Outcome {
    offered(case, |mut state| {
        state.values.insert("of_another_version".to_owned(), Value::Int(2));
        vec![state]
    })
}

fn wrong_types(case: &CaseEnv) -> Outcome {
    offered(case, |state| {
        let others = [Value::Str("text".into()), Value::Bool(true), Value::List(Vec::new())];
        let with = |other: &Value| {
            let mut changed = copy(&state);
            changed.values.values_mut().for_each(|value| *value = other.clone());
            changed
        };
        others.iter().map(with).collect()
    })
}

fn random(case: &CaseEnv) -> Outcome {
    let mut random = Prng::new(&[case.seed, 1]);
    let numbers: Vec<u64> = (0..64).map(|_| random.next_u64()).collect();
    offered(case, |state| {
        let with = |chosen: &u64| {
            let mut changed = copy(&state);
            for value in changed.values.values_mut() {
                *value = match chosen % 4 {
                    0 => Value::Int(i64::from_ne_bytes(chosen.to_ne_bytes())),
                    1 => Value::Float(f64::from_bits(*chosen)),
                    2 => Value::Str(format!("{chosen:x}\u{0}\u{fffd}")),
                    _ => Value::List(vec![Value::Int(1), Value::Float(f64::NAN)]),
                };
            }
            changed
        };
        numbers.iter().map(with).collect()
    })
}

/// A random value, at most `depth` levels deep.
fn tree(random: &mut Prng, depth: u32) -> Value {
    let number = random.next_u64();
    let few = (number >> 8) & 3;
    match number % if depth == 0 { 4 } else { 6 } {
        0 => Value::Bool(number & 64 != 0),
        1 => Value::Int(i64::from_ne_bytes(number.to_ne_bytes())),
        2 => Value::Float(f64::from_bits(random.next_u64())),
        3 => Value::Str(format!("{number:x}\u{0}\n\u{10ffff}")),
        4 => Value::List((0..few).map(|_| tree(random, depth - 1)).collect()),
        _ => {
            let mut entry = |at: u64| (format!("key{at}"), tree(random, depth - 1));
            Value::Table((0..few).map(&mut entry).collect())
        }
    }
}

fn random_trees(case: &CaseEnv) -> Outcome {
    offered(case, |state| {
        let mut random = Prng::new(&[case.seed, 2]);
        let mut with = || {
            let mut changed = copy(&state);
            changed.values.values_mut().for_each(|value| *value = tree(&mut random, 5));
            changed
        };
        (0..64).map(|_| with()).collect()
    })
}

fn random_bytes(case: &CaseEnv) -> Outcome {
    use tch::Kind::{Bool, Double, Float, Half, Int, Int64, Uint8};
    let mut random = Prng::new(&[case.seed, 3]);
    let mut bytes = |count: usize| -> Vec<u8> {
        (0..count).map(|_| random.next_u64().to_le_bytes()[3]).collect()
    };
    let noise = bytes(512);
    offered(case, |state| {
        let with = |kind: tch::Kind| {
            let mut changed = copy(&state);
            for tensor in changed.tensors.values_mut() {
                let width = kind.elt_size_in_bytes();
                let count = (tensor.numel() * width).clamp(width, noise.len()) / width;
                let size = i64::try_from(count).unwrap_or(1);
                // One byte, 0 or 1, is all that a truth value can be.
                let made = match kind {
                    Bool => tch::Tensor::f_from_slice(&noise[..count]).and_then(|it| it.f_gt(127)),
                    _ => tch::Tensor::f_from_data_size(&noise[..count * width], &[size], kind),
                };
                if let Ok(made) = made {
                    *tensor = made;
                }
            }
            changed
        };
        [Bool, Uint8, Int, Int64, Half, Float, Double].into_iter().map(with).collect()
    })
}

fn other_shapes(case: &CaseEnv) -> Outcome {
    offered(case, |state| {
        let shapes: [&[i64]; 3] = [&[], &[0], &[3, 5]];
        let with = |shape: &&[i64]| {
            let mut changed = copy(&state);
            for tensor in changed.tensors.values_mut() {
                *tensor = tch::Tensor::zeros(*shape, (tch::Kind::Float, tch::Device::Cpu));
            }
            changed
        };
        shapes.iter().map(with).collect()
    })
}

fn declared(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| {
        let state = save(context, &used(hook, context)?)?;
        ensure(state.is_empty() || hook.manifest.has_state, || {
            "it saves state, but its manifest says that it has none".to_owned()
        })
    })
}
