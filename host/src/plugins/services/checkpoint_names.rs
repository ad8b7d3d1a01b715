//! What checkpoints are called beside their own names, for plugins.

use super::desk::Desk;
use crate::context::LoadRequest;
use crate::run::checkpoint::{Wanted, check_name};
use hookrack_plugin_api::abi::{CheckpointNameTable, HrHeader, HrStatus, HrStr};
use std::ffi::c_void;

/// The host's table of checkpoint names.
pub(super) static TABLE: CheckpointNameTable =
    CheckpointNameTable { header: HrHeader::of::<CheckpointNameTable>(0), give, load };

unsafe extern "C" fn give(host: *mut c_void, pattern: HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the pattern until this returns.
    let (desk, pattern) = unsafe { (Desk::of(host), pattern.to_lossy()) };
    desk.answer(|context| {
        check_name(&pattern)?;
        context.requests.borrow_mut().name(&desk.name, &pattern);
        Ok::<_, String>(())
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
    // SAFETY: the caller's handle is ours; it lends path and suffix until this returns.
    let (desk, path, suffix) = unsafe { (Desk::of(host), path.to_lossy(), suffix.to_lossy()) };
    let wanted = Wanted { epoch: u64::try_from(epoch).ok(), suffix: suffix.into_owned() };
    let (weights_only, strict) = (weights != 0, strict != 0);
    let path = path.as_ref().into();
    desk.answer(|context| {
        let request = LoadRequest { path, wanted, weights_only, strict };
        context.requests.borrow_mut().load = Some(request);
        Ok::<_, String>(())
    })
}
