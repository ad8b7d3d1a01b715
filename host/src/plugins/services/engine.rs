//! Calls of roles to the engine, for plugins.

use super::endpoint::Endpoint;
use super::ranks::check_all_ranks;
use super::service::{Refusal, service, table};
use crate::context::{Context, RunParts};
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{HrStatus, HrTensor};
use std::ffi::c_void;

table!(EngineTable {
    forward,
    model,
    criterion,
    backward,
    optimizer_step,
    lr_step,
    group_count,
    lr,
    set_lr
});

/// Rejects a call that would bypass the hook with the training forward role.
fn check_pass(context: &Context, endpoint: &Endpoint, function: &str) -> Result<(), Refusal> {
    let role = context.forward_role.borrow().clone();
    match role.filter(|_| context.phase() == Phase::Train) {
        Some(role) => Ok(role.check_pass(endpoint.name(), function)?),
        None => Ok(()),
    }
}

/// Rejects a training pass whose batch norms wait for the other ranks, if the hook does not run on all of them.
fn check_norms(context: &Context, endpoint: &Endpoint) -> Result<(), Refusal> {
    if context.phase() == Phase::Train && context.engine.borrow().syncs_norms() {
        check_all_ranks(context, endpoint, "a forward pass with distributed.sync_batch_norm")?;
    }
    Ok(())
}

unsafe extern "C" fn forward(host: *mut c_void) -> HrStatus {
    service!(host, |context, endpoint| {
        check_pass(context, endpoint, "forward")?;
        endpoint.check_engine("forward()", RunParts::OUTPUT)?;
        check_norms(context, endpoint)?;
        Ok(context.forward()?)
    })
}

unsafe extern "C" fn model(host: *mut c_void, input: HrTensor, out: *mut HrTensor) -> HrStatus {
    service!(host, out(out), |context, endpoint| {
        check_norms(context, endpoint)?;
        let output = context.model(&context.tensor(input)?)?;
        Ok(context.hand_over(output))
    })
}

unsafe extern "C" fn criterion(host: *mut c_void) -> HrStatus {
    service!(host, |context, endpoint| {
        check_pass(context, endpoint, "criterion")?;
        endpoint.check_engine("criterion()", RunParts::LOSS)?;
        Ok(context.criterion()?)
    })
}

unsafe extern "C" fn backward(host: *mut c_void) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("backward()", RunParts::GRADS)?;
        check_all_ranks(context, endpoint, "a backward pass")?;
        Ok(context.backward()?)
    })
}

unsafe extern "C" fn optimizer_step(host: *mut c_void) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("optimizer_step()", RunParts::PARAMS)?;
        Ok(context.optimizer_step()?)
    })
}

unsafe extern "C" fn lr_step(host: *mut c_void) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("lr_step()", RunParts::LR)?;
        context.lr_step();
        Ok(())
    })
}

unsafe extern "C" fn group_count(host: *mut c_void) -> usize {
    let mut count = 0;
    service!(host, out(&raw mut count), |context| Ok(context.engine.borrow().group_count()));
    count
}

unsafe extern "C" fn lr(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus {
    service!(host, out(out), |context| Ok(context.engine.borrow().group(group)?.lr))
}

unsafe extern "C" fn set_lr(host: *mut c_void, group: usize, lr: f64) -> HrStatus {
    service!(host, |context, endpoint| {
        endpoint.check_engine("set_lr()", RunParts::LR)?;
        let mut engine = context.engine.borrow_mut();
        engine.group_mut(group)?.lr = lr;
        let shown = engine.lr();
        drop(engine);
        context.advance(|progress| progress.lr = shown);
        Ok(())
    })
}
