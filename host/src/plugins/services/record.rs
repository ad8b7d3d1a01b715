//! Every value of a scalar, for plugins.

use super::desk::Desk;
use crate::context::Context;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, RecordTable};
use std::ffi::c_void;

/// The host's table of records.
pub(super) static TABLE: RecordTable =
    RecordTable { header: HrHeader::of::<RecordTable>(0), record };

unsafe extern "C" fn record(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(Context::record_events)
}
