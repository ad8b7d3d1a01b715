//! Gradients of any tensor, for plugins.

use super::service::{lent, service, table};
use crate::torch::autograd;
use hookrack_plugin_api::abi::{HrStatus, HrTensor};
use std::ffi::c_void;

table!(GradientTable { compute });

unsafe extern "C" fn compute(
    host: *mut c_void,
    of: HrTensor,
    inputs: *const HrTensor,
    count: usize,
    create_graph: u32,
    out: *mut HrTensor,
) -> HrStatus {
    service!(host, |context| {
        // SAFETY: the caller lends `count` handles until this returns.
        let handles = unsafe { lent(inputs, count) }.iter();
        let inputs = handles.map(|it| context.tensor(*it)).collect::<Result<Vec<_>, _>>()?;
        let of = context.tensor(of)?;
        let gradients = autograd::gradients(&of, &inputs, create_graph != 0)?;
        for (place, gradient) in gradients.into_iter().enumerate() {
            let handle = gradient.map_or(HrTensor::NONE, |gradient| context.hand_over(gradient));
            // SAFETY: the caller gives places for `count` handles.
            unsafe { out.add(place).write(handle) };
        }
        Ok(())
    })
}
