//! Every value of a scalar, for plugins.

use super::service::{service, table};
use hookrack_plugin_api::abi::HrStatus;
use std::ffi::c_void;

table!(RecordTable { record });

unsafe extern "C" fn record(host: *mut c_void) -> HrStatus {
    service!(host, |context| Ok(context.record_events()?))
}
