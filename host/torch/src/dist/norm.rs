//! Batch normalization by the statistics of all ranks.

use std::ptr;

use tch::Tensor;

use super::ffi;
use super::group::Group;
use crate::error::check;
use crate::{Result, TorchError};

/// The tensors of a batch norm, with one element per channel.
#[derive(Debug, Clone, Copy)]
pub struct BatchNormState<'a> {
    /// What each channel is multiplied by.
    pub weight: &'a Tensor,
    /// What is added to the product.
    pub bias: &'a Tensor,
    /// The running mean.
    pub running_mean: &'a Tensor,
    /// The running variance.
    pub running_var: &'a Tensor,
    /// The momentum of the running statistics.
    pub momentum: f64,
    /// What is added to the variance.
    pub eps: f64,
}

impl Group {
    /// Normalizes a batch in training by mean and variance over the rows of all ranks, however many each has. The gradient needs
    /// all ranks too: each must run its backward pass.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn batch_norm(&self, input: &Tensor, state: &BatchNormState<'_>) -> Result<Tensor> {
        let mut out = ptr::null_mut();
        // SAFETY: group and tensors live through the call; `out` is written on success.
        unsafe {
            check(ffi::hrt_sync_batch_norm(
                self.as_raw(),
                input.as_ptr(),
                state.weight.as_ptr(),
                state.bias.as_ptr(),
                state.running_mean.as_ptr(),
                state.running_var.as_ptr(),
                state.momentum,
                state.eps,
                &raw mut out,
            ))?;
        }
        if out.is_null() {
            return Err(TorchError::new("a tensor was made but not handed over"));
        }
        // SAFETY: a new tensor, owned by nobody else.
        Ok(unsafe { Tensor::from_ptr(out) })
    }
}
