//! Points: called directly, in any order, and with unknown codes.

use super::case_env::settings;
use super::{Case, CaseEnv, Outcome, ensure};
use crate::context::Context;
use crate::engine::data::Prng;
use crate::plugins::{HookType, Instance};
use hookrack_plugin_api::abi::HrStatus;
use hookrack_plugin_api::{Point, Value};
use std::rc::Rc;

pub(super) static CASES: &[Case] = &[
    Case::new(
        "points.create_and_destroy",
        "A hook can be created and destroyed without a call.",
        |case| instances(case, |_, _| Ok(())),
    ),
    Case::new(
        "points.attach_and_detach",
        "A hook can be attached and detached without a run.",
        attach,
    ),
    Case::new("points.two_instances", "Two instances do not affect each other.", two),
    Case::new("points.unlisted", "A point that the manifest does not list is ignored.", unlisted),
    Case::new("points.unknown_codes", "An unknown point code is ignored.", unknown),
    Case::new("points.any_order", "Points in a random order cause no crash.", any_order),
    Case::new("points.without_batch", "Points without a batch cause no crash.", without_batch),
    Case::new("points.repeated", "A hundred calls of the same point cause no crash.", repeated),
    Case::new("points.after_detach", "A call after `on_detach` causes no crash.", after_detach),
];

fn instances(case: &CaseEnv, act: impl Fn(&HookType, &mut Instance) -> Outcome) -> Outcome {
    with_context(case, |hook, context| act(hook, &mut instance(hook, context)?))
}

/// Does something with every hook.
pub(super) fn with_context(
    case: &CaseEnv,
    act: impl Fn(&HookType, &Rc<Context>) -> Outcome,
) -> Outcome {
    let context = case.context()?;
    case.hooks()?
        .iter()
        .try_for_each(|hook| act(hook, &context).map_err(|why| format!("`{}`: {why}", hook.name())))
}

pub(super) fn instance(hook: &HookType, context: &Rc<Context>) -> Result<Instance, String> {
    let settings = settings(hook.manifest.params.as_deref()).unwrap_or_else(Value::empty);
    Instance::hook(hook, hook.name(), &settings, context)
}

fn attach(case: &CaseEnv) -> Outcome {
    instances(case, |_, instance| {
        instance.on_point(Point::OnAttach);
        instance.on_point(Point::OnDetach);
        Ok(())
    })
}

fn two(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| {
        let (mut first, mut second) = (instance(hook, context)?, instance(hook, context)?);
        for point in [Point::OnAttach, Point::AfterTrainIter] {
            first.on_point(point);
            second.on_point(point);
        }
        drop(first);
        second.on_point(Point::AfterTrainIter);
        Ok(())
    })
}

fn unlisted(case: &CaseEnv) -> Outcome {
    instances(case, |hook, instance| {
        let listed = &hook.manifest.points;
        Point::ALL.iter().filter(|point| !listed.contains(point)).try_for_each(|point| {
            let status = instance.on_code(point.code());
            ensure(status == HrStatus::OK, || format!("an error at {point}"))
        })
    })
}

fn unknown(case: &CaseEnv) -> Outcome {
    instances(case, |_, instance| {
        [Point::COUNT + 1, 999, 1 << 20, u32::MAX as usize].into_iter().try_for_each(|code| {
            let code = u32::try_from(code).unwrap_or(u32::MAX);
            let status = instance.on_code(code);
            ensure(status == HrStatus::OK, || format!("an error at code {code}"))
        })
    })
}

/// Fails on a panic. An error is allowed, because the points are not called as in a run.
pub(super) fn call(instance: &mut Instance, point: Point) -> Outcome {
    match instance.on_point(point) {
        HrStatus::PANIC => Err(format!("panicked at {point}: {}", instance.take_error())),
        _ => Ok(()),
    }
}

fn any_order(case: &CaseEnv) -> Outcome {
    let mut random = Prng::new(&[case.seed]);
    let order: Vec<usize> =
        (0..400).map(|_| usize::try_from(random.next_u64() >> 33).unwrap_or(0)).collect();
    instances(case, |hook, instance| {
        let points = &hook.manifest.points;
        order.iter().try_for_each(|at| call(instance, points[at % points.len()]))
    })
}

fn without_batch(case: &CaseEnv) -> Outcome {
    with_context(case, |hook, context| {
        context.end_iteration().map_err(|error| error.to_string())?;
        let mut instance = instance(hook, context)?;
        hook.manifest.points.iter().try_for_each(|point| call(&mut instance, *point))?;
        drop(instance);
        case.fill(context)
    })
}

fn repeated(case: &CaseEnv) -> Outcome {
    instances(case, |hook, instance| {
        let points = hook.manifest.points.iter();
        points.flat_map(|point| [*point; 100]).try_for_each(|point| call(instance, point))
    })
}

fn after_detach(case: &CaseEnv) -> Outcome {
    instances(case, |hook, instance| {
        call(instance, Point::OnAttach)?;
        call(instance, Point::OnDetach)?;
        hook.manifest.points.iter().try_for_each(|point| call(instance, *point))
    })
}
