//! Gradients of any tensor in the fake host, which the test computes.

use super::{functions, lent, table};
use crate::abi::HrTensor;
use crate::error::Result;

table!(GradientTable { compute });

functions! {
    call compute(world, _, of: HrTensor, inputs: *const HrTensor, count: usize, _create_graph: u32, out: *mut HrTensor) {
        // SAFETY: a hook lends `count` handles until this returns.
        let handles = unsafe { lent(inputs, count) };
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
        for (place, gradient) in found.into_iter().enumerate() {
            // SAFETY: a hook gives places for `count` handles.
            unsafe { out.add(place).write(world.give(gradient)) };
        }
        Ok(())
    }
}
