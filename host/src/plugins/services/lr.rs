//! Whether the learning rate schedule counts epochs or iterations, for plugins.

use super::service::{service, table};
use crate::context::RunParts;
use hookrack_plugin_api::abi::HrStatus;
use std::ffi::c_void;

table!(LrTable { count_by_epoch });

unsafe extern "C" fn count_by_epoch(host: *mut c_void, by_epoch: u32) -> HrStatus {
    service!(host, |context, endpoint| {
        // Hooks built against 1.1 declare the parameters, which the rate changes, and not the rate.
        endpoint.check_engine("count_lr_by_epoch()", RunParts::LR | RunParts::PARAMS)?;
        Ok(context.engine.borrow_mut().count_lr_by_epoch(by_epoch != 0)?)
    })
}
