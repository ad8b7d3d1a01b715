//! Models beside the one that is trained, for plugins.

use super::desk::Desk;
use crate::context::Lease;
use crate::engine::NamedTensor;
use crate::plugins::wire_value::taken_in;
use crate::run::named_tensors;
use hookrack_plugin_api::Value;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrTensor, HrValue, ModelTable};
use std::ffi::c_void;
use std::path::Path;

/// The host's model table.
pub(super) static TABLE: ModelTable =
    ModelTable { header: HrHeader::of::<ModelTable>(0), build, forward };

unsafe extern "C" fn build(
    host: *mut c_void,
    settings: *const HrValue,
    model: *mut u64,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the tree until this returns.
    let (desk, settings) = unsafe { (Desk::of(host), taken_in(settings)) };
    desk.answer(|context| {
        let (table, weights) = apart(settings?)?;
        let weights = weights.map(|path| read(&path)).transpose()?;
        let engine = context.engine.borrow();
        let built = engine.second_model(table, weights.as_deref()).map_err(|e| e.to_string())?;
        let mut models = context.models.borrow_mut();
        // SAFETY: the caller gives a place for one number.
        unsafe { model.write(models.len() as u64) };
        models.push(built);
        Ok::<_, String>(())
    })
}

/// The table of the model, and the path of its weights.
fn apart(settings: Value) -> Result<(Value, Option<String>), String> {
    let Value::Table(mut fields) = settings else {
        return Err(format!("a model is a table with its `type`, found: {}", settings.kind()));
    };
    let weights = fields.iter().position(|(key, _)| key == "weights");
    match weights.map(|index| fields.remove(index).1) {
        None => Ok((Value::Table(fields), None)),
        Some(Value::Str(path)) => Ok((Value::Table(fields), Some(path))),
        Some(other) => Err(format!("`weights` must be a path, found: {}", other.kind())),
    }
}

fn read(path: &str) -> Result<Vec<NamedTensor>, String> {
    let tensors = named_tensors::read(Path::new(path)).map_err(|error| error.to_string())?;
    Ok(tensors.into_iter().map(|(name, tensor)| NamedTensor { name, tensor }).collect())
}

unsafe extern "C" fn forward(
    host: *mut c_void,
    model: u64,
    input: HrTensor,
    output: *mut HrTensor,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let result = {
            let (arena, models) = (context.arena.borrow(), context.models.borrow());
            let model = usize::try_from(model).ok().and_then(|index| models.get(index));
            let model = model.ok_or("there is no such model")?;
            let input = arena.tensor(input).map_err(|e| e.to_string())?;
            context.engine.borrow().infer_by(model.as_ref(), input).map_err(|e| e.to_string())?
        };
        let handle = context.arena.borrow_mut().insert(result, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { output.write(handle) };
        Ok::<_, String>(())
    })
}
