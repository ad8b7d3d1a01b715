//! What roles ask of the engine.

use super::desk::Desk;
use crate::context::{Context, Lease};
use crate::engine::EngineError;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{EngineTable, HrHeader, HrStatus, HrTensor};
use std::ffi::c_void;
use std::fmt::Display;

/// The host's engine table.
pub(super) static TABLE: EngineTable = EngineTable {
    header: HrHeader::of::<EngineTable>(0),
    forward,
    model,
    criterion,
    backward,
    optimizer_step,
    lr_step,
    group_count,
    lr,
    set_lr,
};

/// # Safety
/// `host` belongs to a handle of ours.
unsafe fn answer<E: Display>(
    host: *mut c_void,
    body: impl FnOnce(&Context) -> Result<(), E>,
) -> HrStatus {
    // SAFETY: by the contract.
    unsafe { Desk::of(host) }.answer(body)
}

/// Answers a call that makes a part of the forward pass.
///
/// # Safety
/// `host` belongs to a handle of ours.
unsafe fn answer_pass(
    host: *mut c_void,
    function: &str,
    body: impl FnOnce(&Context) -> Result<(), EngineError>,
) -> HrStatus {
    // SAFETY: by the contract.
    let desk = unsafe { Desk::of(host) };
    desk.answer(|context| {
        let role = context.forward_role.borrow().clone();
        if let Some(role) = role.filter(|_| context.phase() == Phase::Train) {
            role.check_pass(desk.name(), function)?;
        }
        body(context).map_err(|error| error.to_string())
    })
}

unsafe extern "C" fn forward(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { answer_pass(host, "forward", Context::forward) }
}

unsafe extern "C" fn model(host: *mut c_void, input: HrTensor, out: *mut HrTensor) -> HrStatus {
    let body = |context: &Context| {
        let input =
            context.arena.borrow().tensor(input).map_err(|e| e.to_string())?.shallow_clone();
        let output = context.model(&input).map_err(|e| e.to_string())?;
        let handle = context.arena.borrow_mut().insert(output, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok::<_, String>(())
    };
    // SAFETY: the caller's handle is ours.
    unsafe { answer(host, body) }
}

unsafe extern "C" fn criterion(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { answer_pass(host, "criterion", Context::criterion) }
}

unsafe extern "C" fn backward(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { answer(host, Context::backward) }
}

unsafe extern "C" fn optimizer_step(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { answer(host, Context::optimizer_step) }
}

unsafe extern "C" fn lr_step(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe {
        answer(host, |context| {
            context.lr_step();
            Ok::<_, String>(())
        })
    }
}

unsafe extern "C" fn group_count(host: *mut c_void) -> usize {
    let mut count = 0;
    let body = |context: &Context| {
        count = context.engine.borrow().group_count();
        Ok::<_, String>(())
    };
    // SAFETY: the caller's handle is ours.
    unsafe { answer(host, body) };
    count
}

unsafe extern "C" fn lr(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    let body = |context: &Context| {
        let lr = context.engine.borrow().group(group)?.lr;
        // SAFETY: the caller gives a place for one number.
        unsafe { out.write(lr) };
        Ok::<_, EngineError>(())
    };
    // SAFETY: the caller's handle is ours.
    unsafe { answer(host, body) }
}

unsafe extern "C" fn set_lr(host: *mut c_void, group: usize, lr: f64) -> HrStatus {
    let body = |context: &Context| {
        let mut engine = context.engine.borrow_mut();
        engine.group_mut(group)?.lr = lr;
        let shown = engine.lr();
        drop(engine);
        context.advance(|progress| progress.lr = shown);
        Ok::<_, EngineError>(())
    };
    // SAFETY: the caller's handle is ours.
    unsafe { answer(host, body) }
}
