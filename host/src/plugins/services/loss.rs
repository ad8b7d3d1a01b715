//! What is known about the loss beside its value, for plugins.

use super::desk::Desk;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, LossTable};
use std::ffi::c_void;

/// The host's loss table.
pub(super) static TABLE: LossTable = LossTable { header: HrHeader::of::<LossTable>(0), weight };

unsafe extern "C" fn weight(host: *mut c_void, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let weight = context.loss_weight()?;
        // SAFETY: the caller gives a place for one number.
        unsafe { out.write(weight) };
        Ok::<_, crate::engine::EngineError>(())
    })
}
