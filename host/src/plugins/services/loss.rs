//! The weight of the loss, for plugins.

use super::service::{service, table};
use hookrack_plugin_api::abi::HrStatus;
use std::ffi::c_void;

table!(LossTable { weight });

unsafe extern "C" fn weight(host: *mut c_void, out: *mut f64) -> HrStatus {
    service!(host, out(out), |context| Ok(context.loss_weight()?))
}
