//! Settings of the training step, for plugins.

use super::service::{service, table};
use crate::context::RunParts;
use crate::torch::autograd;
use hookrack_plugin_api::abi::HrStatus;
use std::ffi::c_void;

table!(StepTable { set_anomaly_mode, set_accumulation });

unsafe extern "C" fn set_anomaly_mode(host: *mut c_void, on: u32) -> HrStatus {
    service!(host, |_, endpoint| {
        endpoint.check_engine("set_anomaly_mode()", RunParts::GRADS | RunParts::LOSS)?;
        Ok(autograd::set_anomaly_mode(on != 0)?)
    })
}

unsafe extern "C" fn set_accumulation(host: *mut c_void, parts: u64) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_accumulation()", RunParts::GRADS)?;
        let parts = usize::try_from(parts).unwrap_or(usize::MAX);
        Ok(context.engine.borrow_mut().set_accumulation(parts)?)
    })
}
