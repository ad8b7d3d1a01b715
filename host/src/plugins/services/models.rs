//! Additional models, for plugins.

use super::service::{service, table};
use crate::engine::NamedTensor;
use crate::plugins::wire_value::taken_in;
use crate::run::named_tensors;
use hookrack_plugin_api::Value;
use hookrack_plugin_api::abi::{HrStatus, HrTensor, HrValue};
use std::ffi::c_void;
use std::path::Path;

table!(ModelTable { build, forward });

unsafe extern "C" fn build(
    host: *mut c_void,
    settings: *const HrValue,
    model: *mut u64,
) -> HrStatus {
    service!(host, out(model), |context| {
        // SAFETY: the caller lends the tree until this returns.
        let (table, weights) = apart(unsafe { taken_in(settings) }?)?;
        let weights = weights.map(|path| read(&path)).transpose()?;
        let built = context.engine.borrow().second_model(table, weights.as_deref())?;
        let mut models = context.models.borrow_mut();
        models.push(built);
        Ok(models.len() as u64 - 1)
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
    service!(host, out(output), |context| {
        let input = context.tensor(input)?;
        let result = {
            let models = context.models.borrow();
            let model = usize::try_from(model).ok().and_then(|index| models.get(index));
            let model = model.ok_or("the model does not exist")?;
            context.engine.borrow().infer_by(model.as_ref(), &input)?
        };
        Ok(context.hand_over(result))
    })
}
