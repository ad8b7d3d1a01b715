//! One role run by another hook, and parts of one, for plugins.

use super::desk::Desk;
use crate::context::Lease;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrTensor, RoleTable};
use std::ffi::c_void;

/// The host's role table.
pub(super) static TABLE: RoleTable =
    RoleTable { header: HrHeader::of::<RoleTable>(0), train_forward, criterion_of };

unsafe extern "C" fn train_forward(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        if context.phase() != Phase::Train {
            let phase = context.phase().name();
            return Err(format!(
                "train_forward() is available in training only, and this is {phase}"
            ));
        }
        // Nothing of the context stays borrowed while the hook is called.
        let role = context.forward_role.borrow().clone();
        role.ok_or("no hook holds the training forward role")?.run()
    })
}

unsafe extern "C" fn criterion_of(
    host: *mut c_void,
    output: HrTensor,
    label: HrTensor,
    loss: *mut HrTensor,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let value = {
            let arena = context.arena.borrow();
            let tensor = |handle| arena.tensor(handle).map_err(|e| e.to_string());
            let engine = context.engine.borrow();
            engine.loss(tensor(output)?, tensor(label)?).map_err(|e| e.to_string())?
        };
        let handle = context.arena.borrow_mut().insert(value, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { loss.write(handle) };
        Ok::<_, String>(())
    })
}
