//! Gradient recording, for plugins.

use super::service::service;
use hookrack_plugin_api::abi::{AutogradTable, HrHeader, HrStatus};
use std::ffi::c_void;

/// The host's autograd table.
pub(super) static TABLE: AutogradTable =
    AutogradTable { header: HrHeader::of::<AutogradTable>(0), set_recording };

unsafe extern "C" fn set_recording(host: *mut c_void, on: u32, was: *mut u32) -> HrStatus {
    service!(host, out(was), |_, endpoint| Ok(endpoint.set_recording(on != 0).into()))
}
