//! A hook's own pass over data, for plugins.

use super::ranks::check_all_ranks;
use super::service::{service, table};
use crate::engine::Mode;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{HrStatus, HrTensor};
use std::ffi::c_void;

table!(PassTable { begin, next, forward });

unsafe extern "C" fn begin(host: *mut c_void, phase: u32, batches: *mut u64) -> HrStatus {
    service!(host, found(batches), |context| {
        Ok(context.own_pass.borrow_mut().begin(Phase::from_code(phase)))
    })
}

unsafe extern "C" fn next(
    host: *mut c_void,
    input: *mut HrTensor,
    label: *mut HrTensor,
) -> HrStatus {
    service!(host, found(input), |context| {
        let batch = context.own_pass.borrow_mut().next_batch()?;
        Ok(batch.map(|batch| {
            // SAFETY: the caller gives a place for one handle.
            unsafe { label.write(context.hand_over(batch.label)) };
            context.hand_over(batch.input)
        }))
    })
}

unsafe extern "C" fn forward(
    host: *mut c_void,
    input: HrTensor,
    training: u32,
    output: *mut HrTensor,
) -> HrStatus {
    let mode = if training == 0 { Mode::Eval } else { Mode::Train };
    service!(host, out(output), |context, endpoint| {
        if mode == Mode::Train && context.engine.borrow().syncs_norms() {
            check_all_ranks(context, endpoint, "a training pass with distributed.sync_batch_norm")?;
        }
        let result = context.engine.borrow().infer(&context.tensor(input)?, mode)?;
        Ok(context.hand_over(result))
    })
}
