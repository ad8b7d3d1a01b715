//! What hooks write to: only what their manifests declare, and nothing beyond a buffer.

use super::points::{call, instance};
use super::runs::ended;
use super::{Case, CaseEnv, Outcome};
use crate::context::{Context, RunParts, Slot};
use crate::hooks::CallbackHook;
use crate::job::Job;
use crate::plugins::HookType;
use crate::plugins::guarded::{Edge, guarded};
use hookrack_plugin_api::{Error, Level, Point};
use std::cell::RefCell;
use std::rc::Rc;
use tch::Tensor;

pub(super) static CASES: &[Case] = &[
    Case::new(
        "claims.versions",
        "In a run, no call of a hook changes a tensor that its manifest does not declare.",
        versions,
    ),
    Case::new(
        "claims.parameter_bounds",
        "In a run, no hook writes outside the memory of a parameter.",
        parameter_bounds,
    ),
    Case::new(
        "claims.batch_bounds",
        "No hook writes outside the memory of a tensor of the batch.",
        batch_bounds,
    ),
];

/// A tensor of the run at some time.
#[derive(PartialEq)]
struct TensorSnapshot {
    part: RunParts,
    name: String,
    /// How often operators have written to it.
    version: i64,
    /// Its elements: a write through a pointer leaves the version as it is.
    elements: Vec<u64>,
}

fn snapshot(part: RunParts, name: &str, tensor: &Tensor) -> Option<TensorSnapshot> {
    let flat = tensor.detach().f_to_kind(tch::Kind::Double).ok()?.f_flatten(0, -1).ok()?;
    let elements = Vec::<f64>::try_from(flat).ok()?.into_iter().map(f64::to_bits).collect();
    Some(TensorSnapshot {
        part,
        name: name.to_owned(),
        version: tensor.f_internal_version().ok()?,
        elements,
    })
}

/// The tensors of the run that a hook can reach.
fn snapshots(context: &Context) -> Vec<TensorSnapshot> {
    let engine = context.engine.borrow();
    let model = engine.params().iter().chain(engine.buffers());
    let model = model.filter_map(|it| snapshot(RunParts::PARAMS, &it.name, &it.tensor));
    let grads = engine.params().iter();
    let grads = grads.filter_map(|it| Some((it.name.as_str(), it.tensor.f_grad().ok()?)));
    let grads = grads.filter(|(_, grad)| grad.defined());
    let grads = grads.filter_map(|(name, grad)| snapshot(RunParts::GRADS, name, &grad));
    let current = context.current.borrow();
    let slots = Slot::OF_BATCH.into_iter();
    let slots = slots.filter_map(|slot| snapshot(slot.part(), slot.name(), current.tensor(slot)?));
    model.chain(grads).chain(slots).collect()
}

/// The context of a run that is assembled after its hooks.
type ContextCell = Rc<RefCell<Option<Rc<Context>>>>;

/// Looks before the hooks of each point and compares after them.
fn watch(job: &mut Job, hook: &HookType, cell: &ContextCell) -> Outcome {
    let seen: Rc<RefCell<Vec<TensorSnapshot>>> = Rc::default();
    let mut before = CallbackHook::new("claims_before").level(Level::HIGHEST);
    let mut after = CallbackHook::new("claims_after").level(Level::LOWEST);
    let points = hook.manifest.points.iter().copied().filter(|point| !point.is_role());
    for point in points.filter(|point| !matches!(point, Point::OnAttach | Point::OnDetach)) {
        let (own, kept) = (Rc::clone(cell), Rc::clone(&seen));
        before = before.at(point, move |_| {
            *kept.borrow_mut() = own.borrow().as_deref().map(snapshots).unwrap_or_default();
            Ok(())
        });
        let declared = RunParts::declared(&hook.manifest.mutates);
        let (own, kept) = (Rc::clone(cell), Rc::clone(&seen));
        after = after.at(point, move |_| {
            let now = own.borrow().as_deref().map(snapshots).unwrap_or_default();
            let seen = kept.borrow();
            let changed = seen.iter().find(|old| {
                let same = |new: &&TensorSnapshot| new.name == old.name && new.part == old.part;
                !declared.meets(old.part) && now.iter().find(same).is_some_and(|new| new != *old)
            });
            changed.map_or(Ok(()), |it| {
                let (part, name) = (it.part, &it.name);
                let why =
                    format!("it changes {part} (`{name}`) at {point} and does not declare it");
                Err(Error::new(why))
            })
        });
    }
    job.add(before).and_then(|()| job.add(after)).map_err(|error| error.to_string())
}

/// Each hook in a run of its own, so that no other hook is blamed.
fn versions(case: &CaseEnv) -> Outcome {
    let hooks = case.hooks()?;
    hooks.iter().try_for_each(|hook| {
        let entry = case.entry("custom_hooks", hook.name(), hook.manifest.params.as_deref());
        let entry = format!("{entry}level = \"normal\"\non_error = \"abort\"\n");
        let mut job = case.job(&entry, &[])?;
        let cell = ContextCell::default();
        watch(&mut job, hook, &cell)?;
        let mut trainer = case.assemble(&job)?;
        *cell.borrow_mut() = Some(Rc::clone(trainer.context()));
        let ran = ended(&trainer.fit());
        *cell.borrow_mut() = None;
        ran.map_err(|why| format!("`{}`: {why}", hook.name()))
    })
}

fn parameter_bounds(case: &CaseEnv) -> Outcome {
    let entries = case.entries("")?;
    Edge::BOTH.into_iter().try_for_each(|edge| {
        let mut trainer = case.trainer(&entries, &[])?;
        guard_params(trainer.context(), edge)?;
        ended(&trainer.fit())
    })
}

fn guard_params(context: &Context, edge: Edge) -> Outcome {
    for param in context.engine.borrow().params() {
        let copy = guarded(&param.tensor, edge).map_err(|error| error.to_string())?;
        let mut own = param.tensor.shallow_clone();
        tch::no_grad(|| own.f_set_data(&copy)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn guard_batch(context: &Context, edge: Edge) -> Outcome {
    let mut current = context.current.borrow_mut();
    for slot in Slot::OF_BATCH {
        let copy = current.tensor(slot).map(|tensor| guarded(tensor, edge)).transpose();
        current.set(slot, copy.map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn batch_bounds(case: &CaseEnv) -> Outcome {
    let context = case.context()?;
    for hook in case.hooks()? {
        for edge in Edge::BOTH {
            let mut instance = instance(&hook, &context)?;
            for point in &hook.manifest.points {
                case.fill(&context)?;
                guard_batch(&context, edge)?;
                call(&mut instance, *point)?;
                context.end_iteration().map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(())
}
