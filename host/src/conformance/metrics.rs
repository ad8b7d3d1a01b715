//! Metrics: compute, reset and merge.

use super::case_env::settings;
use super::{Case, CaseEnv, Outcome, ensure};
use crate::context::{Context, Slot};
use crate::plugins::MetricTrial;
use hookrack_plugin_api::Value;

pub(super) static CASES: &[Case] = &[
    Case::new("metric.empty", "A metric without a batch computes without an error.", empty)
        .unless(no_metric),
    Case::new("metric.pure", "Computing twice gives the same values.", pure).unless(no_metric),
    Case::new("metric.reset", "A metric that was reset equals a new one.", reset).unless(no_metric),
    Case::new("metric.merge", "Merging two halves gives the values of the whole.", merge)
        .unless(no_metric),
    Case::new("metric.merge_empty", "Merging an empty state changes nothing.", merge_empty)
        .unless(no_metric),
    Case::new("metric.order", "The order of a merge does not matter.", order).unless(no_metric),
    Case::new("metric.nan", "NaN in an output causes no crash.", nan).unless(no_metric),
];

type Values = Vec<(String, f64)>;
/// The tensors of a batch by their slots.
type Batch = Vec<(Slot, Option<tch::Tensor>)>;

/// Equal up to 1e-6 relative: sums in another order round differently in single precision.
fn close(one: &Values, other: &Values) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, a), (other, b))| {
            let near = (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0);
            name == other && (near || (a.is_nan() && b.is_nan()))
        })
}

fn no_metric(case: &CaseEnv) -> Result<Option<String>, String> {
    Ok(case.metrics()?.is_empty().then(|| "the library has no metric".to_owned()))
}

fn differ(one: &Values, other: &Values) -> String {
    format!("{one:?} and {other:?}")
}

fn each(
    case: &CaseEnv,
    act: impl Fn(&dyn Fn() -> Result<MetricTrial, String>, &Context) -> Outcome,
) -> Outcome {
    let context = case.context()?;
    case.metrics()?.iter().try_for_each(|metric| {
        let settings = settings(metric.manifest.params.as_deref()).unwrap_or_else(Value::empty);
        let make = || MetricTrial::new(metric, &settings, &context);
        act(&make, &context).map_err(|why| format!("`{}`: {why}", metric.name()))
    })
}

/// A copy of the batch in the slots.
fn batch(context: &Context) -> Batch {
    let current = context.current.borrow();
    Slot::OF_BATCH.map(|slot| (slot, current.tensor(slot).map(tch::Tensor::shallow_clone))).into()
}

fn put(context: &Context, batch: &[(Slot, Option<tch::Tensor>)]) {
    let mut current = context.current.borrow_mut();
    for (slot, tensor) in batch {
        current.set(*slot, tensor.as_ref().map(tch::Tensor::shallow_clone));
    }
}

/// Two batches.
fn two(case: &CaseEnv, context: &Context) -> Result<[Batch; 2], String> {
    let first = batch(context);
    case.fill(context)?;
    Ok([first, batch(context)])
}

fn empty(case: &CaseEnv) -> Outcome {
    each(case, |make, _| make()?.values().map(drop))
}

fn pure(case: &CaseEnv) -> Outcome {
    each(case, |make, _| {
        let metric = make()?;
        metric.update()?;
        let (first, second) = (metric.values()?, metric.values()?);
        ensure(close(&first, &second), || differ(&first, &second))
    })
}

fn reset(case: &CaseEnv) -> Outcome {
    each(case, |make, context| {
        let [first, second] = two(case, context)?;
        let (used, fresh) = (make()?, make()?);
        put(context, &first);
        used.update()?;
        used.reset()?;
        put(context, &second);
        used.update()?;
        fresh.update()?;
        let (one, other) = (used.values()?, fresh.values()?);
        ensure(close(&one, &other), || differ(&one, &other))
    })
}

fn merged(case: &CaseEnv, swap: bool) -> Outcome {
    each(case, |make, context| {
        let [first, second] = two(case, context)?;
        let (joint, left, right) = (make()?, make()?, make()?);
        for (own, half) in [(&first, &left), (&second, &right)] {
            put(context, own);
            joint.update()?;
            half.update()?;
        }
        let (into, from) = if swap { (right, left) } else { (left, right) };
        into.merge(&from.state()?)?;
        let (one, other) = (joint.values()?, into.values()?);
        ensure(close(&one, &other), || differ(&one, &other))
    })
}

fn merge(case: &CaseEnv) -> Outcome {
    merged(case, false)
}

fn order(case: &CaseEnv) -> Outcome {
    merged(case, true)
}

fn merge_empty(case: &CaseEnv) -> Outcome {
    each(case, |make, _| {
        let (metric, fresh) = (make()?, make()?);
        metric.update()?;
        let before = metric.values()?;
        metric.merge(&fresh.state()?)?;
        let after = metric.values()?;
        ensure(close(&before, &after), || differ(&before, &after))
    })
}

fn nan(case: &CaseEnv) -> Outcome {
    each(case, |make, context| {
        let before = batch(context);
        let output = tch::Tensor::full([4, 3], f64::NAN, (tch::Kind::Float, tch::Device::Cpu));
        context.current.borrow_mut().set(Slot::Output, Some(output));
        let metric = make()?;
        // An error is allowed.
        let _ = metric.update().and_then(|()| metric.values());
        put(context, &before);
        Ok(())
    })
}
