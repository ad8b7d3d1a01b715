//! Whether gradients are recorded, for plugins.

use super::desk::Desk;
use hookrack_plugin_api::abi::{AutogradTable, HrHeader, HrStatus};
use std::ffi::c_void;

/// The host's autograd table.
pub(super) static TABLE: AutogradTable =
    AutogradTable { header: HrHeader::of::<AutogradTable>(0), set_recording };

unsafe extern "C" fn set_recording(host: *mut c_void, on: u32, was: *mut u32) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    let desk = unsafe { Desk::of(host) };
    desk.answer(|_| {
        let before = desk.set_recording(on != 0);
        // SAFETY: the caller gives a place for one number.
        unsafe { was.write(before.into()) };
        Ok::<_, String>(())
    })
}
