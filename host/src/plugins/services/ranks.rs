//! Collectives, for plugins.

use super::endpoint::Endpoint;
use super::service::{Refusal, lent_mut, service, table};
use crate::context::{Context, Lease};
use crate::torch::TorchError;
use crate::torch::autograd::GradMode;
use crate::torch::dist::{Group, Reduction};
use crate::world::{CollectiveError, HookCall, through_cpu};
use hookrack_plugin_api::abi::{HrStatus, HrTensor, REDUCE_MAX, REDUCE_MIN, REDUCE_SUM};
use hookrack_plugin_api::point::Pace;
use hookrack_plugin_api::{Phase, Point};
use std::ffi::c_void;
use tch::Tensor;

table!(RankTable { all_reduce_numbers, all_reduce, broadcast, all_gather, barrier });

/// Runs a collective where all ranks are. A single process has nothing to do.
fn together(
    endpoint: &Endpoint,
    context: &Context,
    collective: &str,
    act: impl FnOnce(&Group) -> Result<(), TorchError>,
) -> Result<(), Refusal> {
    let Some(world) = context.world.get() else { return Ok(()) };
    check_all_ranks(context, endpoint, "a collective")?;
    check_permissions(context, endpoint)?;
    let call = HookCall {
        hook: endpoint.name().to_owned(),
        point: endpoint.point().map_or(u32::MAX, Point::code),
        iter: context.progress.get().iter,
    };
    let failed = |error: TorchError| {
        let of_peers = error.is_of_peers();
        Refusal::from(if of_peers { world.name_failure(&error) } else { error.to_string() })
    };
    world.sync_collective(&call, collective).map_err(|why| match why {
        CollectiveError::Peer(error) => failed(error),
        CollectiveError::Apart(why) => why.into(),
    })?;
    let _mode = GradMode::set(false);
    world.for_hooks(act).map_err(failed)
}

/// Rejects a call that waits for the other ranks, if the hook does not run on all of them.
pub(super) fn check_all_ranks(
    context: &Context,
    endpoint: &Endpoint,
    what: &str,
) -> Result<(), Refusal> {
    if context.world.get().is_none() || !endpoint.on_some_ranks.get() {
        return Ok(());
    }
    Err(format!(
        "{what} is not allowed in a hook that does not run on all ranks, because it waits for all of them: set ranks = \"all\" for the hook"
    )
    .into())
}

/// Rejects collectives where another rank may never arrive: in the iterations of an evaluation or a prediction.
fn check_permissions(context: &Context, endpoint: &Endpoint) -> Result<(), Refusal> {
    let within = |point: &Point| context.phase() != Phase::Train && point.pace() == Pace::Iter;
    match endpoint.point().filter(within) {
        Some(point) => Err(format!(
            "a collective is not allowed at {point}, because ranks may have different numbers of batches: reduce at the end of the pass"
        )
        .into()),
        None => Ok(()),
    }
}

fn reduction(code: u32) -> Result<Reduction, Refusal> {
    match code {
        REDUCE_SUM => Ok(Reduction::Sum),
        REDUCE_MAX => Ok(Reduction::Max),
        REDUCE_MIN => Ok(Reduction::Min),
        other => Err(format!("{other} is not a reduction").into()),
    }
}

fn tensor_of(context: &Context, tensor: HrTensor) -> Result<Tensor, Refusal> {
    Ok(context.arena.borrow().tensor(tensor)?.shallow_clone())
}

/// A tensor that a collective writes to, as an operator in place would.
fn written(
    context: &Context,
    endpoint: &Endpoint,
    tensor: HrTensor,
    collective: &str,
) -> Result<Tensor, Refusal> {
    let part = context.arena.borrow().part(tensor)?;
    endpoint.check_declared(part, || format!("{collective}()"))?;
    tensor_of(context, tensor)
}

unsafe extern "C" fn all_reduce_numbers(
    host: *mut c_void,
    numbers: *mut f64,
    count: usize,
    code: u32,
) -> HrStatus {
    service!(host, |context, endpoint| {
        let reduction = reduction(code)?;
        // SAFETY: the caller lends so many numbers until this returns, and reads them afterwards.
        let numbers = unsafe { lent_mut(numbers, count) };
        together(endpoint, context, "all_reduce_numbers", |group| {
            let tensor = Tensor::f_from_slice(numbers)?;
            group.all_reduce(&tensor, reduction)?;
            Ok(tensor.f_copy_data(numbers, count)?)
        })
    })
}

unsafe extern "C" fn all_reduce(host: *mut c_void, tensor: HrTensor, code: u32) -> HrStatus {
    service!(host, |context, endpoint| {
        let reduction = reduction(code)?;
        let tensor = written(context, endpoint, tensor, "all_reduce")?;
        together(endpoint, context, "all_reduce", |group| {
            through_cpu(&tensor, |tensor| group.all_reduce(tensor, reduction))
        })
    })
}

unsafe extern "C" fn broadcast(host: *mut c_void, tensor: HrTensor, root: u32) -> HrStatus {
    service!(host, |context, endpoint| {
        let world = context.progress.get().world;
        if root >= world {
            return Err(format!("rank {root} does not exist: the run has {world}").into());
        }
        let tensor = written(context, endpoint, tensor, "broadcast")?;
        together(endpoint, context, "broadcast", |group| {
            through_cpu(&tensor, |tensor| group.broadcast(tensor, root as usize))
        })
    })
}

unsafe extern "C" fn all_gather(
    host: *mut c_void,
    tensor: HrTensor,
    out: *mut HrTensor,
) -> HrStatus {
    service!(host, out(out), |context, endpoint| {
        let tensor = tensor_of(context, tensor)?;
        let mut gathered = None;
        together(endpoint, context, "all_gather", |group| {
            let all = group.all_gather(&tensor.f_to_device(tch::Device::Cpu)?)?;
            gathered = Some(all.f_to_device(tensor.device())?);
            Ok(())
        })?;
        let gathered = match gathered {
            Some(gathered) => gathered,
            None => Tensor::f_stack(&[tensor.f_detach()?], 0)?,
        };
        Ok(context.arena.borrow_mut().insert(gathered, Lease::Owned))
    })
}

unsafe extern "C" fn barrier(host: *mut c_void) -> HrStatus {
    service!(host, |context, endpoint| together(endpoint, context, "barrier", Group::barrier))
}
