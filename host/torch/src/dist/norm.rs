//! Batch normalization by the statistics of all ranks.

use std::ptr;

use tch::Tensor;

use super::ffi;
use super::group::Group;
use crate::batch_norm::BatchNormState;
use crate::error::check;
use crate::{Result, TorchError};

impl Group {
    /// Normalizes a batch in training by mean and variance over the rows of all ranks, however many each has. The gradient needs
    /// all ranks too: each must run its backward pass.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn batch_norm(&self, input: &Tensor, state: &BatchNormState<'_>) -> Result<Tensor> {
        let (norm, mut out) = (state.as_raw(), ptr::null_mut());
        // SAFETY: group and tensors live through the call; `out` is written on success.
        unsafe {
            let (group, input) = (self.as_raw(), input.as_ptr());
            check(ffi::hrt_sync_batch_norm(group, input, &raw const norm, &raw mut out))?;
        }
        if out.is_null() {
            return Err(TorchError::new("a tensor was made but not handed over"));
        }
        // SAFETY: a new tensor, owned by nobody else.
        Ok(unsafe { Tensor::from_ptr(out) })
    }
}
