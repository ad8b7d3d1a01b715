//! Gradient recording, for plugins.

use super::service::{service, table};
use hookrack_plugin_api::abi::HrStatus;
use std::ffi::c_void;

table!(AutogradTable { set_recording });

unsafe extern "C" fn set_recording(host: *mut c_void, on: u32, was: *mut u32) -> HrStatus {
    service!(host, out(was), |_, endpoint| Ok(endpoint.set_recording(on != 0).into()))
}
