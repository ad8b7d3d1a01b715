//! One role run by another hook, for plugins.

use super::desk::Desk;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, RoleTable};
use std::ffi::c_void;

/// The host's role table.
pub(super) static TABLE: RoleTable =
    RoleTable { header: HrHeader::of::<RoleTable>(0), train_forward };

unsafe extern "C" fn train_forward(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        if context.phase() != Phase::Train {
            let phase = context.phase().name();
            return Err(format!("train_forward() is for training, and this is {phase}"));
        }
        // Nothing of the context stays borrowed while the hook is called.
        let role = context.forward_role.borrow().clone();
        role.ok_or("no hook holds the training forward role")?.run()
    })
}
