//! Which checkpoints are kept, and which one is loaded, for plugins.

use super::service::{service, table};
use crate::context::{LoadRequest, RunParts};
use crate::run::checkpoint::{Best, CheckpointFilter, Rule};
use hookrack_plugin_api::Better;
use hookrack_plugin_api::abi::{HrStatus, HrStr};
use std::ffi::c_void;

table!(CheckpointTable { keep, load });

unsafe extern "C" fn keep(
    host: *mut c_void,
    last: i64,
    every_epochs: u64,
    every_iters: u64,
    metric: HrStr,
    higher: u32,
    top: u64,
) -> HrStatus {
    service!(host, text(metric), |context, endpoint| {
        let best = Best { metric: metric.into_owned(), better: Better::of(higher != 0), top };
        context.requests.borrow_mut().keep(Rule {
            who: endpoint.name.clone(),
            last: u64::try_from(last).ok(),
            every_epochs,
            every_iters,
            best: (!best.metric.is_empty()).then_some(best),
            ..Rule::default()
        });
        Ok(())
    })
}

unsafe extern "C" fn load(
    host: *mut c_void,
    path: HrStr,
    epoch: i64,
    weights: u32,
    strict: u32,
) -> HrStatus {
    service!(host, text(path), |context, endpoint| {
        endpoint.check_engine("load_checkpoint()", RunParts::PARAMS)?;
        let request = load_request(&path, epoch, "", weights, strict);
        context.requests.borrow_mut().load = Some(request);
        Ok(())
    })
}

/// A request to load a checkpoint; a negative epoch is the newest, an empty suffix any.
pub(super) fn load_request(
    path: &str,
    epoch: i64,
    suffix: &str,
    weights: u32,
    strict: u32,
) -> LoadRequest {
    LoadRequest {
        path: path.into(),
        wanted: CheckpointFilter { epoch: u64::try_from(epoch).ok(), suffix: suffix.to_owned() },
        weights_only: weights != 0,
        strict: strict != 0,
    }
}
