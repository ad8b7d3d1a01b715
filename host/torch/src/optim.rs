//! One fused optimizer step over a group of parameters; the state stays in lists that the caller owns.
//!
//! A parameter without a gradient is skipped, its state too. Gradients are gathered again in each step, so
//! they may be set to none in between.

use std::fmt;

use super::error::check;
use super::{Result, TensorList, TorchError, ffi};

/// The hyperparameters of an Adam step. Must match the struct in `shim/optim.cpp`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AdamHyper {
    /// Learning rate.
    pub lr: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Added to the denominator.
    pub eps: f64,
    /// Use the maximum of the second moments.
    pub amsgrad: bool,
    /// Maximize instead of minimize.
    pub maximize: bool,
    /// Decay the weights themselves (AdamW), not through the gradient (Adam).
    pub decoupled_decay: bool,
}

/// The hyperparameters of an SGD step. Must match the struct in `shim/optim.cpp`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SgdHyper {
    /// Learning rate.
    pub lr: f64,
    /// Momentum; 0 keeps no buffers.
    pub momentum: f64,
    /// Dampening of the momentum.
    pub dampening: f64,
    /// Weight decay, added to the gradient.
    pub weight_decay: f64,
    /// Nesterov's momentum.
    pub nesterov: bool,
    /// Maximize instead of minimize.
    pub maximize: bool,
}

/// Scratch vectors of a step, reused between steps; keep one per group.
pub struct Scratch {
    raw: *mut ffi::RawScratch,
}

// SAFETY: owned alone and empty between steps.
unsafe impl Send for Scratch {}

impl Default for Scratch {
    fn default() -> Self {
        // SAFETY: takes nothing, hands over a new object; the shim ends the process when memory is out.
        Self { raw: unsafe { ffi::hrt_scratch_new() } }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: made by the shim for `self`, freed once.
        unsafe { ffi::hrt_scratch_free(self.raw) };
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Scratch")
    }
}

/// One Adam or AdamW step. Counts the step of every parameter that takes part. The state: steps taken (a 0-dim float per
/// parameter), first moments, second moments and, with amsgrad, the largest second moments so far.
pub fn adam_step(
    params: &TensorList,
    [steps, averages, squares, max_squares]: &mut [TensorList; 4],
    scratch: &mut Scratch,
    hyper: &AdamHyper,
) -> Result<()> {
    same_length("first moments", params, averages)?;
    same_length("second moments", params, squares)?;
    same_length("steps", params, steps)?;
    if hyper.amsgrad {
        same_length("largest second moments", params, max_squares)?;
    }
    // SAFETY: all lists live through the call and are as long as `params`, which is what the shim relies on.
    unsafe {
        check(ffi::hrt_adam_step(
            params.as_raw(),
            averages.as_raw(),
            squares.as_raw(),
            max_squares.as_raw(),
            steps.as_raw(),
            scratch.raw,
            hyper,
        ))
    }
}

/// One SGD step. `buffers` holds one tensor per parameter, undefined until its first step with momentum.
pub fn sgd_step(
    params: &TensorList,
    buffers: &mut TensorList,
    scratch: &mut Scratch,
    hyper: &SgdHyper,
) -> Result<()> {
    same_length("momentum buffers", params, buffers)?;
    // SAFETY: both lists live through the call and are of one length, which is what the shim relies on.
    unsafe { check(ffi::hrt_sgd_step(params.as_raw(), buffers.as_raw(), scratch.raw, hyper)) }
}

/// The operands of a step that consists of list operators: the parameters that have a gradient, their
/// gradients and `N` kinds of state. Keep one: it is refilled in each step and keeps its capacity.
#[derive(Debug)]
pub struct Active<const N: usize> {
    /// The parameters.
    pub params: TensorList,
    /// Their gradients. They belong to the model: copy before changing them.
    pub grads: TensorList,
    /// Their state, in the order in which it was given.
    pub states: [TensorList; N],
}

impl<const N: usize> Default for Active<N> {
    fn default() -> Self {
        let states = std::array::from_fn(|_| TensorList::default());
        Self { params: TensorList::default(), grads: TensorList::default(), states }
    }
}

impl<const N: usize> Active<N> {
    /// Collects the parameters that have a gradient, with their entry of each state list; an empty list is
    /// not in use. False if no parameter has a gradient.
    pub fn gather(&mut self, params: &TensorList, states: &[TensorList; N]) -> Result<bool> {
        // SAFETY: all three live through the call; the two that are filled are borrowed alone.
        unsafe {
            check(ffi::hrt_gather(params.as_raw(), self.params.as_raw(), self.grads.as_raw()))?;
        }
        for (state, active) in states.iter().zip(&mut self.states) {
            active.clear();
            if state.is_empty() {
                continue;
            }
            same_length("state tensors", params, state)?;
            // SAFETY: as above, and `state` is as long as `params`, which is what the shim relies on.
            unsafe {
                check(ffi::hrt_gather_state(params.as_raw(), state.as_raw(), active.as_raw()))?;
            }
        }
        Ok(!self.params.is_empty())
    }

    /// Releases all tensors, so that setting gradients to none frees their memory.
    pub fn clear(&mut self) {
        self.params.clear();
        self.grads.clear();
        self.states.iter_mut().for_each(TensorList::clear);
    }
}

fn same_length(what: &str, params: &TensorList, state: &TensorList) -> Result<()> {
    let (wanted, found) = (params.len(), state.len());
    if wanted == found {
        return Ok(());
    }
    Err(TorchError::new(&format!("{wanted} parameters but {found} {what}")))
}

#[cfg(test)]
mod tests {
    use super::super::Arg;
    use super::super::autograd::{self, GradMode};
    use super::*;
    use tch::Tensor;

    const PLAIN: SgdHyper = SgdHyper {
        lr: 1.0,
        momentum: 0.0,
        dampening: 0.0,
        weight_decay: 0.0,
        nesterov: false,
        maximize: false,
    };

    fn zeros_with_grad() -> Tensor {
        let param = Tensor::zeros([2, 3], tch::kind::FLOAT_CPU).set_requires_grad(true);
        autograd::backward(&param.sum(tch::Kind::Float)).unwrap();
        param
    }

    fn step(param: &Tensor, buffer: &Tensor, hyper: &SgdHyper) -> Result<()> {
        let params: TensorList = [param].into_iter().collect();
        let mut buffers: TensorList = [buffer].into_iter().collect();
        sgd_step(&params, &mut buffers, &mut Scratch::default(), hyper)
    }

    #[test]
    fn a_gradient_that_lies_otherwise_is_copied_not_misread() {
        let param = zeros_with_grad();
        let _no_grad = GradMode::set(false);
        let column_by_column = Tensor::arange(6, tch::kind::FLOAT_CPU).view([3, 2]).tr();
        let replace = super::super::Op::find("aten::set_.source_Tensor").unwrap();
        replace.run(&[Arg::tensor(&param.grad()), Arg::tensor(&column_by_column)]).unwrap();
        step(&param, &Tensor::new(), &PLAIN).unwrap();
        assert_eq!(-&param, column_by_column);
    }

    #[test]
    fn state_and_lists_that_do_not_fit_are_refused() {
        let param = zeros_with_grad();
        let momentum = SgdHyper { momentum: 0.9, ..PLAIN };
        let error = step(&param, &Tensor::zeros([1], tch::kind::FLOAT_CPU), &momentum).unwrap_err();
        assert_eq!(
            error.text(),
            "optimizer state of shape [1] does not have the memory layout of its parameter of shape [2, 3]"
        );
        let params: TensorList = [&param].into_iter().collect();
        let mut none = TensorList::default();
        let outcome = sgd_step(&params, &mut none, &mut Scratch::default(), &PLAIN);
        assert_eq!(outcome.unwrap_err().text(), "1 parameters but 0 momentum buffers");
    }

    #[test]
    fn what_takes_part_is_gathered_with_its_state() {
        let (stepped, idle) = (zeros_with_grad(), Tensor::zeros([2], tch::kind::FLOAT_CPU));
        let params: TensorList = [&idle, &stepped].into_iter().collect();
        let counters: TensorList = [Tensor::from(1.0_f32), Tensor::from(2.0_f32)].iter().collect();
        let mut active = Active::default();
        let states = [counters, TensorList::default()];
        assert!(active.gather(&params, &states).unwrap());
        let lengths = |active: &Active<2>| {
            let states = active.states.each_ref().map(TensorList::len);
            (active.params.len(), active.grads.len(), states)
        };
        assert_eq!(lengths(&active), (1, 1, [1, 0]));
        let counter = active.states[0].tensor(0).unwrap().double_value(&[]);
        assert!((counter - 2.0).abs() < 1e-9, "the counter of another parameter: {counter}");
        active.clear();
        assert_eq!(lengths(&active), (0, 0, [0, 0]));
    }

    #[test]
    fn state_that_does_not_lie_as_its_parameter_is_not_gathered() {
        let params: TensorList = [zeros_with_grad()].into_iter().collect();
        let column_by_column = Tensor::zeros([3, 2], tch::kind::FLOAT_CPU).tr();
        let error = Active::default().gather(&params, &[[column_by_column].iter().collect()]);
        assert!(
            error.unwrap_err().text().contains("does not have the memory layout of its parameter")
        );
        let two: TensorList = [Tensor::from(0.0), Tensor::from(0.0)].iter().collect();
        let error = Active::default().gather(&params, &[two]).unwrap_err();
        assert_eq!(error.text(), "1 parameters but 2 state tensors");
    }
}
