//! Files that hooks write to the run directory.

use super::service::{lent, service, table};
use crate::context::Context;
use crate::run::{hook_file, safetensors_file};
use hookrack_plugin_api::abi::{HrStatus, HrStr, HrTensor};
use std::ffi::c_void;
use std::path::Path;
use tch::Tensor;

table!(ArtifactTable { run_dir, save_tensors });

unsafe extern "C" fn run_dir(host: *mut c_void) -> HrStr {
    let mut text = HrStr::EMPTY;
    service!(host, out(&raw mut text), |context| {
        // The path is the context's and does not change, so it can be lent for the run.
        Ok(context.run_dir.as_deref().and_then(Path::to_str).map_or(HrStr::EMPTY, HrStr::new))
    });
    text
}

unsafe extern "C" fn save_tensors(
    host: *mut c_void,
    file: HrStr,
    names: *const HrStr,
    tensors: *const HrTensor,
    count: usize,
) -> HrStatus {
    service!(host, text(file), |context, endpoint| {
        if !file.ends_with(".safetensors") {
            return Err(format!("`{file}`: the name must end in .safetensors").into());
        }
        let path = hook_file(context.run_dir.as_deref(), &file)?;
        // SAFETY: the caller lends `count` names and handles until this returns.
        let (names, tensors) = unsafe { (lent(names, count), lent(tensors, count)) };
        let mut saved = Vec::with_capacity(count);
        for (name, tensor) in names.iter().zip(tensors) {
            // SAFETY: the caller lends the names until this returns.
            let name = unsafe { name.to_lossy() }.into_owned();
            saved.push((name, context.tensor(*tensor)?));
        }
        warn_of_missing_stages(context, &endpoint.name, &file, &saved);
        Ok(safetensors_file::write(&path, &saved)?)
    })
}

/// Warns if a file has the parameters of one stage of a pipeline. The other ranks do not take part in the call, so those of the other
/// stages cannot be gathered here.
fn warn_of_missing_stages(context: &Context, hook: &str, file: &str, saved: &[(String, Tensor)]) {
    let engine = context.engine.borrow();
    let Some(stage) = engine.stage() else { return };
    let is_saved = |param: &str| saved.iter().any(|(name, _)| name == param);
    let has_own = engine.params().iter().any(|param| is_saved(&param.name));
    if has_own && !engine.param_names().iter().all(|name| is_saved(name)) {
        tracing::warn!(
            "{hook}: {file} has only the parameters of stage {} of {}; `hookrack export RUN` writes those of all stages from a \
             checkpoint (`--what ema` for averaged weights)",
            stage.number,
            stage.layout.stages
        );
    }
}
