//! The handles of the gradients, created on demand.

use super::arena::{Arena, Lease};
use super::run_parts::RunParts;
use crate::engine::NamedTensor;
use crate::torch::{Result, autograd};
use hookrack_plugin_api::abi::HrTensor;

/// The handles of the gradients, in the order of the parameters; 0 for one that has none.
#[derive(Default)]
pub struct GradRow {
    handles: Vec<HrTensor>,
    // Whether a backward pass ran since the row was created: it may have replaced gradients.
    is_outdated: bool,
}

impl GradRow {
    /// The current handles. Absent ones are looked up again each time; other handles stay the same until a
    /// backward pass.
    pub fn handles(&mut self, params: &[NamedTensor], arena: &mut Arena) -> Result<&[HrTensor]> {
        if std::mem::take(&mut self.is_outdated) {
            self.handles.fill(HrTensor::NONE);
        }
        self.handles.resize(params.len(), HrTensor::NONE);
        let absent = self.handles.iter_mut().zip(params).filter(|(id, _)| **id == HrTensor::NONE);
        for (handle, param) in absent {
            if let Some(grad) = autograd::grad(&param.tensor)? {
                *handle = arena.insert_part(grad, Lease::Iteration, RunParts::GRADS);
            }
        }
        Ok(&self.handles)
    }

    /// A backward pass was run.
    pub fn outdate(&mut self) {
        self.is_outdated = true;
    }

    /// Drops the handles, which are invalid after the iteration.
    pub fn clear(&mut self) {
        self.handles.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Tensor;

    fn numbers(arena: &Arena, handle: HrTensor) -> Vec<f32> {
        Vec::try_from(arena.tensor(handle).unwrap()).unwrap()
    }

    #[test]
    fn a_row_that_was_asked_for_too_early_fills_once_there_are_gradients() {
        let leaf = |x: f32| Tensor::from_slice(&[x]).set_requires_grad(true);
        let named = |name: &str, tensor| NamedTensor { name: name.to_owned(), tensor };
        let (a, b) = (leaf(2.0), leaf(3.0));
        let params = [named("a", a.shallow_clone()), named("b", b.shallow_clone())];
        let (mut row, mut arena) = (GradRow::default(), Arena::default());
        assert_eq!(row.handles(&params, &mut arena).unwrap(), [HrTensor::NONE; 2]);
        autograd::backward(&(&a * 5.0)).unwrap();
        row.outdate();
        let early = row.handles(&params, &mut arena).unwrap().to_vec();
        assert_eq!((numbers(&arena, early[0]), early[1]), (vec![5.0], HrTensor::NONE));
        assert_eq!(row.handles(&params, &mut arena).unwrap(), early, "one handle for all who ask");
        autograd::backward(&(&a * &b)).unwrap();
        row.outdate();
        let late = row.handles(&params, &mut arena).unwrap().to_vec();
        assert_eq!((numbers(&arena, late[0]), numbers(&arena, late[1])), (vec![8.0], vec![2.0]));
        assert_eq!(numbers(&arena, early[0]), [8.0], "an earlier handle stays valid");
    }
}
