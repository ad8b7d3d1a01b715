//! One fused optimizer step over a group of parameters; the state stays in lists that the caller owns.
//!
//! A parameter without a gradient is skipped, its state too. Gradients are gathered anew in each step, so
//! they may be set to none in between.

use std::fmt;
use std::ptr;

use tch::Tensor;

use super::error::check;
use super::{Result, TensorList, TorchError, ffi};

/// The numbers of an Adam step. The same fields stand in `torch-ext/optim.cpp`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "the kernel's own switches")]
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
    /// Go up, not down.
    pub maximize: bool,
    /// Decay the weights themselves (AdamW), not through the gradient (Adam).
    pub decoupled_decay: bool,
}

/// The numbers of an SGD step. The same fields stand in `torch-ext/optim.cpp`.
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
    /// Go up, not down.
    pub maximize: bool,
}

/// What loss scaling adds to a step: the kernel divides gradients by `scale` and skips where `found_inf` is 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unscale<'a> {
    /// The loss scale, 0-dim.
    pub scale: Option<&'a Tensor>,
    /// 1 when a gradient is not finite, 0-dim.
    pub found_inf: Option<&'a Tensor>,
}

/// The state lists of Adam, each as long as the parameters; `max_squares` is empty without amsgrad.
#[derive(Debug, Default)]
pub struct AdamState {
    /// First moments.
    pub averages: TensorList,
    /// Second moments.
    pub squares: TensorList,
    /// Largest second moments so far.
    pub max_squares: TensorList,
    /// Steps taken, a 0-dim float per parameter.
    pub steps: TensorList,
}

/// Vectors that a step fills and empties again; keep one per group.
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

/// One Adam or AdamW step. Counts the step of every parameter that takes part.
pub fn adam_step(
    params: &TensorList,
    state: &mut AdamState,
    scratch: &mut Scratch,
    hyper: &AdamHyper,
    unscale: Unscale<'_>,
) -> Result<()> {
    same_length("first moments", params, &state.averages)?;
    same_length("second moments", params, &state.squares)?;
    same_length("steps", params, &state.steps)?;
    if hyper.amsgrad {
        same_length("largest second moments", params, &state.max_squares)?;
    }
    // SAFETY: all lists live through the call and are as long as `params`, which is what the shim relies on.
    unsafe {
        check(ffi::hrt_adam_step(
            params.as_raw(),
            state.averages.as_raw(),
            state.squares.as_raw(),
            state.max_squares.as_raw(),
            state.steps.as_raw(),
            scratch.raw,
            hyper,
            unscale.scale.map_or(ptr::null(), Tensor::as_ptr),
            unscale.found_inf.map_or(ptr::null(), Tensor::as_ptr),
        ))
    }
}

/// One SGD step. `buffers` holds one tensor per parameter, undefined until its first step with momentum.
pub fn sgd_step(
    params: &TensorList,
    buffers: &mut TensorList,
    scratch: &mut Scratch,
    hyper: &SgdHyper,
    unscale: Unscale<'_>,
) -> Result<()> {
    same_length("momentum buffers", params, buffers)?;
    // SAFETY: both lists live through the call and are of one length, which is what the shim relies on.
    unsafe {
        check(ffi::hrt_sgd_step(
            params.as_raw(),
            buffers.as_raw(),
            scratch.raw,
            hyper,
            unscale.scale.map_or(ptr::null(), Tensor::as_ptr),
            unscale.found_inf.map_or(ptr::null(), Tensor::as_ptr),
        ))
    }
}

fn same_length(what: &str, params: &TensorList, state: &TensorList) -> Result<()> {
    let (wanted, found) = (params.len(), state.len());
    if wanted == found {
        return Ok(());
    }
    Err(TorchError::new(&format!("{wanted} parameters but {found} {what}")))
}
