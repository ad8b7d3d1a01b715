//! Freezing parameters, and the settings of parameter groups, for plugins.

use super::service::{service, table};
use crate::context::RunParts;
use crate::engine::EngineError;
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use std::ffi::c_void;

table!(ParamTable {
    trainable,
    set_trainable,
    group_of,
    group_name,
    base_lr,
    set_base_lr,
    momentum,
    set_momentum,
    weight_decay,
    set_weight_decay
});

unsafe extern "C" fn trainable(host: *mut c_void, index: usize, out: *mut u32) -> HrStatus {
    service!(host, out(out), |context| {
        let engine = context.engine.borrow();
        let param = engine.params().get(index).ok_or(EngineError::NoParam { index })?;
        Ok(param.tensor.requires_grad().into())
    })
}

unsafe extern "C" fn set_trainable(
    host: *mut c_void,
    pattern: HrStr,
    trainable: u32,
    out: *mut usize,
) -> HrStatus {
    service!(host, text(pattern), out(out), |context, endpoint| {
        endpoint.check_engine("set_trainable()", RunParts::PARAMS)?;
        Ok(context.engine.borrow_mut().set_trainable(&pattern, trainable != 0)?)
    })
}

unsafe extern "C" fn group_of(host: *mut c_void, index: usize, out: *mut usize) -> HrStatus {
    service!(host, out(out), |context| Ok(context.engine.borrow().group_of(index)?))
}

unsafe extern "C" fn group_name(host: *mut c_void, group: usize, out: *mut HrStr) -> HrStatus {
    // A group keeps its name for the run, so it can be lent for as long.
    service!(host, out(out), |context| {
        Ok(HrStr::new(&context.engine.borrow().group(group)?.name))
    })
}

unsafe extern "C" fn base_lr(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    service!(host, out(out), |context| Ok(context.engine.borrow().group(group)?.base_lr))
}

unsafe extern "C" fn set_base_lr(host: *mut c_void, group: usize, value: f64) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_group_base_lr()", RunParts::LR)?;
        context.engine.borrow_mut().group_mut(group)?.base_lr = value;
        Ok(())
    })
}

unsafe extern "C" fn momentum(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    service!(host, found(out), |context| Ok(context.engine.borrow().group(group)?.momentum))
}

unsafe extern "C" fn set_momentum(host: *mut c_void, group: usize, value: f64) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_group_momentum()", RunParts::MOMENTUM | RunParts::LR)?;
        let mut engine = context.engine.borrow_mut();
        let momentum = engine.group_mut(group)?.momentum.as_mut();
        *momentum.ok_or(EngineError::NoMomentum)? = value;
        Ok(())
    })
}

unsafe extern "C" fn weight_decay(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    service!(host, out(out), |context| Ok(context.engine.borrow().group(group)?.weight_decay))
}

unsafe extern "C" fn set_weight_decay(host: *mut c_void, group: usize, value: f64) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_group_weight_decay()", RunParts::PARAMS | RunParts::LR)?;
        context.engine.borrow_mut().group_mut(group)?.weight_decay = value;
        Ok(())
    })
}
