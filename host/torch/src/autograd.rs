//! Backward passes, gradients, and whether gradients are recorded.

use std::ptr;

use tch::Tensor;

use super::error::check;
use super::{Result, TensorList, TorchError, ffi, shape};

/// Accumulates the gradients of a scalar loss into the leaves that it came from, and frees the graph.
pub fn backward(loss: &Tensor) -> Result<()> {
    // SAFETY: the loss lives through the call; a null gradient means one for a scalar.
    unsafe { check(ffi::hrt_backward(loss.as_ptr(), ptr::null(), false)) }
}

/// As [`backward`], from an output of any shape and its gradient.
pub fn backward_from(output: &Tensor, grad: &Tensor) -> Result<()> {
    // SAFETY: both live through the call.
    unsafe { check(ffi::hrt_backward(output.as_ptr(), grad.as_ptr(), false)) }
}

/// As [`backward_from`], from several outputs in one pass. A leaf may be one of them: its gradient is added to what the others give it
/// before both are added to what it has.
pub fn backward_from_all(outputs: &TensorList, grads: &TensorList) -> Result<()> {
    // SAFETY: both live through the call; libtorch checks that they have one length.
    unsafe { check(ffi::hrt_backward_all(outputs.as_raw(), grads.as_raw())) }
}

/// The gradients of a tensor with one element with respect to `inputs`, leaves or not; none where it does not depend on one. They are
/// not added to what the leaves have, and the graph stays. With `create_graph` they have a graph themselves.
pub fn gradients(
    of: &Tensor,
    inputs: &[Tensor],
    create_graph: bool,
) -> Result<Vec<Option<Tensor>>> {
    if shape::count(of) != 1 {
        let sizes = shape::with_sides(of, |sizes| format!("{sizes:?}"));
        return Err(TorchError::new(&format!(
            "the gradient of a tensor of shape {sizes} is not defined: reduce it to one element"
        )));
    }
    if !of.requires_grad() {
        return Err(TorchError::new("the tensor has no graph: gradients were not recorded"));
    }
    if let Some(index) = inputs.iter().position(|input| !input.requires_grad()) {
        return Err(TorchError::new(&format!(
            "input {index} does not record gradients: call requires_grad_ on it before it is used"
        )));
    }
    let found = Tensor::f_run_backward(&[of], inputs, true, create_graph)?;
    Ok(found.into_iter().map(|gradient| gradient.defined().then_some(gradient)).collect())
}

/// Turns anomaly mode on or off, for the process: a backward pass that produces a NaN then fails and names the function.
pub fn set_anomaly_mode(on: bool) -> Result<()> {
    // SAFETY: sets a flag of libtorch.
    unsafe { check(ffi::hrt_anomaly_mode(on)) }
}

/// The gradient of a leaf, if a backward pass has set one.
pub fn grad(leaf: &Tensor) -> Result<Option<Tensor>> {
    let grad = leaf.f_grad()?;
    Ok(grad.defined().then_some(grad))
}

/// Refills `out` with the existing gradients, in the order of `params`; `out` keeps its capacity.
pub fn grads_into(params: &TensorList, out: &mut TensorList) -> Result<()> {
    // SAFETY: both live through the call, and `out` is borrowed alone.
    unsafe { check(ffi::hrt_list_grads(params.as_raw(), out.as_raw())) }
}

/// Sets all gradients to none: their memory is freed, and a parameter that takes no part in the next
/// backward pass is not stepped.
pub fn clear_grads(params: &TensorList) -> Result<()> {
    // SAFETY: the list lives through the call.
    unsafe { check(ffi::hrt_list_clear_grads(params.as_raw())) }
}

/// Gives each of `parts`, a flat range of one of `wholes` that begins at one of `starts`, its range of the gradient: a view of the
/// same memory if the gradient is contiguous. A parameter without a gradient leaves its part without one.
pub fn slice_grads(wholes: &TensorList, parts: &TensorList, starts: &[i64]) -> Result<()> {
    if wholes.len() != parts.len() || parts.len() != starts.len() {
        return Err(TorchError::new("each part of a tensor needs its whole and its start"));
    }
    // SAFETY: all three live through the call and have one length, which is what the shim relies on.
    unsafe { check(ffi::hrt_list_slice_grads(wholes.as_raw(), parts.as_raw(), starts.as_ptr())) }
}

/// Switches gradient recording on this thread, and returns the previous state. [`GradMode`] restores it automatically.
pub fn set_recording(record: bool) -> bool {
    // SAFETY: sets a thread-local flag and returns the old one.
    unsafe { torch_sys::at_grad_set_enabled(record.into()) != 0 }
}

/// Switches gradient recording for this thread until it is dropped, a panic included.
#[derive(Debug)]
#[must_use = "the mode is restored when the guard is dropped"]
pub struct GradMode {
    before: bool,
}

impl GradMode {
    /// Switches gradient recording from here on.
    pub fn set(record: bool) -> Self {
        Self { before: set_recording(record) }
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        set_recording(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(values: &[f32]) -> Tensor {
        Tensor::from_slice(values).set_requires_grad(true)
    }

    #[test]
    fn a_given_gradient_flows_back() {
        let x = leaf(&[1.0, 2.0]);
        backward_from(&(&x * 3.0), &Tensor::from_slice(&[1.0_f32, 10.0])).unwrap();
        let found: Vec<f32> = Vec::try_from(grad(&x).unwrap().unwrap()).unwrap();
        assert_eq!(found, [3.0, 30.0]);
    }

    #[test]
    fn a_leaf_takes_a_gradient_of_its_own_beside_that_of_an_output() {
        let x = leaf(&[1.0, 2.0]);
        let outputs: TensorList = [&(&x * 3.0), &x].into_iter().collect();
        let grads = [Tensor::from_slice(&[1.0_f32, 10.0]), Tensor::from_slice(&[0.5_f32, 0.25])];
        backward_from_all(&outputs, &grads.iter().collect()).unwrap();
        let found: Vec<f32> = Vec::try_from(grad(&x).unwrap().unwrap()).unwrap();
        assert_eq!(found, [3.5, 30.25]);
        assert!(backward_from_all(&outputs, &TensorList::default()).is_err());
    }

    /// Losses over graphs of several shapes: what each of these gives the leaves must have the bits of libtorch's engine.
    const LOSSES: [fn(&Tensor, &Tensor) -> Tensor; 5] = [
        |x, y| (x * y).sum(tch::Kind::Float),
        // A tensor that is used three times, and added up in between.
        |x, y| {
            let both = x.sin() + y;
            (&both * &both + &both * x).sum(tch::Kind::Float)
        },
        // Broadcast: the gradient of `y` is summed.
        |x, y| (x.unsqueeze(1) * y).exp().mean(tch::Kind::Float),
        // Another type on the way, and an output without a gradient.
        |x, y| {
            let (largest, _place) = (x.to_kind(tch::Kind::Double) * 3.0 * y).max_dim(0, false);
            largest.to_kind(tch::Kind::Float) + x.detach().sum(tch::Kind::Float)
        },
        // A leaf that takes no part.
        |x, _| x.cumsum(0, tch::Kind::Float).log_softmax(0, tch::Kind::Float).select(0, 1),
    ];

    #[test]
    fn gradients_have_the_bits_of_libtorchs_engine() {
        for (number, loss) in LOSSES.iter().enumerate() {
            let leaves = || (leaf(&[0.3, -1.7, 2.9]), leaf(&[0.1, 0.7, -0.2]));
            let ((x, y), (a, b)) = (leaves(), leaves());
            // Twice, so that the second pass adds to the gradients of the first.
            for _ in 0..2 {
                backward(&loss(&x, &y)).unwrap();
                loss(&a, &b).f_backward().unwrap();
            }
            for (found, wanted) in [(&x, &a), (&y, &b)] {
                assert_eq!(grad(found).unwrap(), grad(wanted).unwrap(), "loss {number}");
            }
        }
    }

    #[test]
    fn a_graph_is_freed_by_its_backward_pass() {
        let x = leaf(&[1.0, 2.0]);
        let loss = x.exp().sum(tch::Kind::Float);
        backward(&loss).unwrap();
        let error = backward(&loss).unwrap_err();
        assert!(error.text().contains("a second time"), "{error}");
        assert!(
            backward_from(&x.exp(), &Tensor::from(1.0_f32)).is_err(),
            "a gradient of another shape"
        );
    }

    #[test]
    fn gradients_are_returned_and_not_added_and_may_be_differentiated() {
        let (x, idle) = (leaf(&[3.0]), leaf(&[1.0]));
        let cube = (&x * &x * &x).sum(tch::Kind::Float);
        let inputs = [x.shallow_clone(), idle];
        let found = gradients(&cube, &inputs, true).unwrap();
        let first = found[0].as_ref().unwrap();
        assert_eq!(first, &Tensor::from_slice(&[27.0_f32]));
        assert!(found[1].is_none() && grad(&x).unwrap().is_none());
        let second = gradients(&first.sum(tch::Kind::Float), &inputs[..1], false).unwrap();
        let second = second[0].as_ref().unwrap();
        assert_eq!(second, &Tensor::from_slice(&[18.0_f32]));
        assert!(!second.requires_grad());
        backward(&cube).unwrap();
    }

    #[test]
    fn a_gradient_that_is_not_defined_is_an_error_that_says_what_is_missing() {
        let (x, plain) = (leaf(&[1.0, 2.0]), Tensor::from_slice(&[1.0_f32]));
        let why = |of: &Tensor, input: &Tensor| {
            gradients(of, &[input.shallow_clone()], false).unwrap_err().text().to_owned()
        };
        assert!(why(&(&x * 2.0), &x).contains("shape [2]"));
        assert!(why(&plain, &x).contains("has no graph"));
        assert!(
            why(&x.sum(tch::Kind::Float), &plain).contains("input 0 does not record gradients")
        );
    }

    #[test]
    fn backward_without_a_graph_is_an_error_not_a_panic() {
        let error = backward(&Tensor::from(1.0_f32)).unwrap_err();
        assert!(error.text().contains("does not require grad"), "{error}");
    }

    #[test]
    fn cleared_gradients_are_none_and_left_out() {
        let (x, y) = (leaf(&[1.0]), leaf(&[1.0]));
        let params: TensorList = [&x, &y].into_iter().collect();
        let mut grads = TensorList::default();
        backward(&(&x * 2.0)).unwrap();
        grads_into(&params, &mut grads).unwrap();
        assert_eq!(grads.len(), 1);
        clear_grads(&params).unwrap();
        assert!(grad(&x).unwrap().is_none());
    }

    #[test]
    fn parts_get_their_range_of_the_gradient_and_share_its_memory() {
        let (x, idle) = (leaf(&[1.0, 2.0, 3.0]), leaf(&[1.0, 2.0]));
        backward(&(&x * &x).sum(tch::Kind::Float)).unwrap();
        let _off = GradMode::set(false);
        let part = |whole: &Tensor, start, length| whole.detach().narrow(0, start, length);
        let parts: TensorList = [part(&x, 1, 2), part(&idle, 0, 1)].iter().collect();
        let wholes: TensorList = [&x, &idle].into_iter().collect();
        slice_grads(&wholes, &parts, &[1, 0]).unwrap();
        let first = grad(&parts.tensor(0).unwrap()).unwrap().unwrap();
        assert_eq!(first, Tensor::from_slice(&[4.0_f32, 6.0]));
        let _ = x.grad().fill_(7.0);
        assert_eq!(first, Tensor::from_slice(&[7.0_f32, 7.0]));
        assert!(grad(&parts.tensor(1).unwrap()).unwrap().is_none());
        assert!(slice_grads(&wholes, &parts, &[1]).is_err());
    }

    #[test]
    fn the_mode_comes_back_after_the_guard() {
        let x = leaf(&[1.0]);
        {
            let _off = GradMode::set(false);
            assert!(!(&x * 2.0).requires_grad());
            let _on = GradMode::set(true);
            assert!((&x * 2.0).requires_grad());
        }
        assert!((&x * 2.0).requires_grad());
    }
}
