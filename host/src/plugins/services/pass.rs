//! A hook's own pass over data, for plugins.

use super::desk::Desk;
use crate::context::Lease;
use crate::engine::Mode;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrTensor, PassTable};
use std::ffi::c_void;

/// The host's pass table.
pub(super) static TABLE: PassTable =
    PassTable { header: HrHeader::of::<PassTable>(0), begin, next, forward };

unsafe extern "C" fn begin(host: *mut c_void, phase: u32, batches: *mut u64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let begun = context.own_pass.borrow_mut().begin(Phase::from_code(phase));
        let Some(count) = begun else { return Ok::<_, String>(HrStatus::ABSENT) };
        // SAFETY: the caller gives a place for one number.
        unsafe { batches.write(count) };
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn next(
    host: *mut c_void,
    input: *mut HrTensor,
    label: *mut HrTensor,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let batch = context.own_pass.borrow_mut().next_batch().map_err(|e| e.to_string())?;
        let Some(batch) = batch else { return Ok::<_, String>(HrStatus::ABSENT) };
        let mut arena = context.arena.borrow_mut();
        // SAFETY: the caller gives a place for one handle each.
        unsafe {
            input.write(arena.insert(batch.input, Lease::Owned));
            label.write(arena.insert(batch.label, Lease::Owned));
        }
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn forward(
    host: *mut c_void,
    input: HrTensor,
    training: u32,
    output: *mut HrTensor,
) -> HrStatus {
    let mode = if training == 0 { Mode::Eval } else { Mode::Train };
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let input =
            context.arena.borrow().tensor(input).map_err(|e| e.to_string())?.shallow_clone();
        let result = context.engine.borrow().infer(&input, mode).map_err(|e| e.to_string())?;
        let handle = context.arena.borrow_mut().insert(result, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { output.write(handle) };
        Ok::<_, String>(())
    })
}
