//! Every value of a scalar, for plugins.

use super::service::service;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, RecordTable};
use std::ffi::c_void;

/// The host's table of records.
pub(super) static TABLE: RecordTable =
    RecordTable { header: HrHeader::of::<RecordTable>(0), record };

unsafe extern "C" fn record(host: *mut c_void) -> HrStatus {
    service!(host, |context| Ok(context.record_events()?))
}
