//! Second names of checkpoints, for plugins.

use super::checkpoints::load_request;
use super::service::{service, table};
use crate::context::RunParts;
use crate::run::checkpoint::{check_name, keep_in};
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use std::ffi::c_void;

table!(CheckpointNameTable { give, load });

unsafe extern "C" fn give(host: *mut c_void, pattern: HrStr) -> HrStatus {
    service!(host, text(pattern), |context, endpoint| {
        let (folder, name) = match pattern.rsplit_once('/') {
            Some((folder, name)) if !folder.is_empty() => (Some(folder), name),
            _ => (None, &*pattern),
        };
        check_name(name)?;
        if let (Some(folder), Some(run_dir)) = (folder, &context.run_dir) {
            keep_in(run_dir, folder)?;
        }
        context.requests.borrow_mut().name(&endpoint.name, name);
        Ok(())
    })
}

unsafe extern "C" fn load(
    host: *mut c_void,
    path: HrStr,
    epoch: i64,
    suffix: HrStr,
    weights: u32,
    strict: u32,
) -> HrStatus {
    service!(host, text(path, suffix), |context, endpoint| {
        endpoint.check_engine("load_checkpoint_named()", RunParts::PARAMS)?;
        let request = load_request(&path, epoch, &suffix, weights, strict);
        context.requests.borrow_mut().load = Some(request);
        Ok(())
    })
}
