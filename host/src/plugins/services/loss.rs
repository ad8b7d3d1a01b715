//! The weight of the loss, for plugins.

use super::service::service;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, LossTable};
use std::ffi::c_void;

/// The host's loss table.
pub(super) static TABLE: LossTable = LossTable { header: HrHeader::of::<LossTable>(0), weight };

unsafe extern "C" fn weight(host: *mut c_void, out: *mut f64) -> HrStatus {
    service!(host, out(out), |context| Ok(context.loss_weight()?))
}
