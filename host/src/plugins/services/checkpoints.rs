//! Which checkpoints hooks want kept, and which one they want loaded.

use super::desk::Desk;
use crate::context::LoadRequest;
use crate::run::checkpoint::{Best, Rule, Wanted};
use hookrack_plugin_api::abi::{CheckpointTable, HrHeader, HrStatus, HrStr};
use std::ffi::c_void;

/// The host's checkpoint table.
pub(super) static TABLE: CheckpointTable =
    CheckpointTable { header: HrHeader::of::<CheckpointTable>(0), keep, load };

unsafe extern "C" fn keep(
    host: *mut c_void,
    last: i64,
    every_epochs: u64,
    every_iters: u64,
    metric: HrStr,
    higher: u32,
    top: u64,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    let (desk, metric) = unsafe { (Desk::of(host), metric.to_lossy()) };
    let best = Best { metric: metric.into_owned(), higher: higher != 0, top };
    let rule = Rule {
        who: desk.name.clone(),
        last: u64::try_from(last).ok(),
        every_epochs,
        every_iters,
        best: (!best.metric.is_empty()).then_some(best),
        ..Rule::default()
    };
    desk.answer(|context| {
        context.requests.borrow_mut().keep(rule);
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn load(
    host: *mut c_void,
    path: HrStr,
    epoch: i64,
    weights: u32,
    strict: u32,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the path until this returns.
    let (desk, path) = unsafe { (Desk::of(host), path.to_lossy()) };
    let (weights_only, strict) = (weights != 0, strict != 0);
    let wanted = Wanted { epoch: u64::try_from(epoch).ok(), ..Wanted::default() };
    let request = LoadRequest { path: path.as_ref().into(), wanted, weights_only, strict };
    desk.answer(|context| {
        context.requests.borrow_mut().load = Some(request);
        Ok::<_, String>(())
    })
}
