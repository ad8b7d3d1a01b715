//! The precision of a run, for plugins.

use super::service::{service, table};
use crate::context::RunParts;
use crate::engine::{LossScalerSettings, Precision};
use hookrack_plugin_api::abi::{HrStatus, PRECISION_BF16, PRECISION_FP16, PRECISION_FP32};
use std::ffi::c_void;

table!(PrecisionTable { set_precision, set_loss_scaling });

/// What depends on the arithmetic.
fn changed() -> RunParts {
    RunParts::PARAMS | RunParts::GRADS
}

unsafe extern "C" fn set_precision(host: *mut c_void, precision: u32) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_precision()", changed())?;
        let precision = match precision {
            PRECISION_FP32 => Precision::Fp32,
            PRECISION_BF16 => Precision::Bf16,
            PRECISION_FP16 => Precision::Fp16,
            _ => return Err(format!("this host does not support precision {precision}").into()),
        };
        let mut engine = context.engine.borrow_mut();
        engine.set_precision(precision)?;
        if let Some(caution) = engine.caution() {
            tracing::warn!("{}: {caution}", endpoint.name);
        }
        Ok(())
    })
}

unsafe extern "C" fn set_loss_scaling(
    host: *mut c_void,
    scale: f64,
    growth: f64,
    backoff: f64,
    interval: u64,
) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_loss_scaling()", changed())?;
        let settings = LossScalerSettings { scale, growth, backoff, interval };
        Ok(context.engine.borrow_mut().set_loss_scaling(settings)?)
    })
}
