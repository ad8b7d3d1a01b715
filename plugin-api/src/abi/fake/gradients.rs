//! Gradients of any tensor in the fake host, which the test computes.

use super::{Caller, table};
use crate::abi::{HrStatus, HrTensor};
use crate::error::Result;
use std::ffi::c_void;

table!(GradientTable { compute });

unsafe extern "C" fn compute(
    host: *mut c_void,
    of: HrTensor,
    inputs: *const HrTensor,
    count: usize,
    _create_graph: u32,
    out: *mut HrTensor,
) -> HrStatus {
    // SAFETY: a hook calls with the pointer of its handle; it lends `count` handles until this returns.
    let (caller, handles) = unsafe {
        let handles: Vec<_> = (0..count).map(|at| *inputs.add(at)).collect();
        (Caller::of(host), handles)
    };
    let found = caller.answer(|world, _| {
        let inputs = handles.iter().map(|it| world.tensor(*it)).collect::<Result<Vec<_>>>()?;
        let of = world.tensor(of)?;
        let Some(function) = &mut world.gradients_of else {
            crate::bail!(
                "the fake trainer has no autograd: give it a function with FakeTrainer::gradients"
            )
        };
        let found = function(&of, &inputs)?;
        let (given, wanted) = (found.len(), inputs.len());
        crate::ensure!(given == wanted, "{given} gradients for {wanted} inputs");
        Ok(found.into_iter().map(|gradient| world.give(gradient)).collect::<Vec<_>>())
    });
    let found = match found {
        Ok(found) => found,
        Err(status) => return status,
    };
    for (place, handle) in found.into_iter().enumerate() {
        // SAFETY: a hook gives places for `count` handles.
        unsafe { out.add(place).write(handle) };
    }
    HrStatus::OK
}
