//! The reducer: gradients are summed over all ranks in buckets, while the backward pass still runs.

use std::ffi::CString;
use std::ptr::{self, NonNull};

use tch::Tensor;

use super::group::Group;
use super::{c_string, ffi};
use crate::error::check;
use crate::{Result, TensorList, TorchError};

/// How much is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSizes {
    /// Bytes of the first bucket: small, so that reducing begins early.
    pub first: usize,
    /// Bytes of every other bucket.
    pub cap: usize,
}

impl Default for BucketSizes {
    /// PyTorch's defaults.
    fn default() -> Self {
        Self { first: 1 << 20, cap: 25 << 20 }
    }
}

/// How gradients are reduced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReducerOptions {
    /// Sizes of the buckets.
    pub buckets: BucketSizes,
    /// Find parameters that the loss does not depend on before each backward pass, and send zeros for them.
    pub find_unused: bool,
    /// Send half-precision numbers.
    pub half: bool,
}

/// Sums gradients over the ranks of a group. Parameters and buckets are the same on all of them.
#[derive(Debug)]
pub struct Reducer {
    raw: NonNull<ffi::RawReducer>,
    params: TensorList,
}

// SAFETY: owned alone; the reducer is not bound to a thread.
unsafe impl Send for Reducer {}

impl Reducer {
    /// A reducer of these parameters, which must all require gradients. It keeps the group alive.
    ///
    /// # Errors
    /// Ranks differ in their parameters, or one has failed.
    pub fn new(params: &[(&str, &Tensor)], group: &Group, options: ReducerOptions) -> Result<Self> {
        let names =
            params.iter().map(|(name, _)| c_string(name)).collect::<Result<Vec<CString>>>()?;
        let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let mut list = TensorList::with_capacity(params.len());
        for (_, tensor) in params {
            list.push(tensor);
        }
        let mut raw = ptr::null_mut();
        // SAFETY: everything lives through the call; there is a name for each parameter.
        unsafe {
            check(ffi::hrt_reducer_new(
                list.as_raw(),
                names.as_ptr(),
                group.as_raw(),
                options.buckets.first,
                options.buckets.cap,
                options.find_unused,
                options.half,
                &raw mut raw,
            ))?;
        }
        let raw = NonNull::new(raw)
            .ok_or_else(|| TorchError::new("a reducer was made but not handed over"))?;
        Ok(Self { raw, params: list })
    }

    /// Call it before a forward pass whose gradients will be reduced.
    ///
    /// # Errors
    /// Another rank has failed, or the last reduction did not finish.
    pub fn before_forward(&self) -> Result<()> {
        // SAFETY: owned alone.
        unsafe { check(ffi::hrt_reducer_forward(self.raw.as_ptr())) }
    }

    /// Call it before a backward pass whose gradients are to be summed over all ranks; without it they only accumulate locally.
    ///
    /// # Errors
    /// The last reduction did not finish.
    pub fn before_backward(&self, loss: &Tensor) -> Result<()> {
        // SAFETY: owned alone; the loss lives through the call.
        unsafe { check(ffi::hrt_reducer_backward(self.raw.as_ptr(), loss.as_ptr())) }
    }

    /// The index of the first parameter without a gradient from the last backward pass.
    pub fn first_unused(&self) -> Option<usize> {
        // SAFETY: the list lives through the call.
        let index = unsafe { ffi::hrt_first_without_grad(self.params.as_raw()) };
        (index < self.params.len()).then_some(index)
    }
}

impl Drop for Reducer {
    fn drop(&mut self) {
        // SAFETY: owned alone, and not freed before.
        unsafe { ffi::hrt_reducer_free(self.raw.as_ptr()) };
    }
}

/// The bytes of the buckets that a reducer of these parameters begins with, in the order in which they are sent.
///
/// # Errors
/// libtorch does not accept the parameters.
pub fn bucket_bytes(params: &TensorList, sizes: BucketSizes) -> Result<Vec<usize>> {
    let (mut bytes, mut count) = (vec![0; params.len()], 0);
    // SAFETY: there is room for a bucket per parameter, and no more are made.
    unsafe {
        check(ffi::hrt_bucket_bytes(
            params.as_raw(),
            sizes.first,
            sizes.cap,
            bytes.as_mut_ptr(),
            &raw mut count,
        ))?;
    }
    bytes.truncate(count);
    Ok(bytes)
}
