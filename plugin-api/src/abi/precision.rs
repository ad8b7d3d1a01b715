//! The extension for choosing the precision of a run.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PRECISION: &str = "hookrack.precision/1";

/// 32-bit floats.
pub const PRECISION_FP32: u32 = 0;
/// bfloat16 where that is safe.
pub const PRECISION_BF16: u32 = 1;
/// float16 where that is safe, with loss scaling.
pub const PRECISION_FP16: u32 = 2;

/// The arithmetic of forward and backward passes.
#[repr(C)]
#[derive(StableAbi)]
pub struct PrecisionTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Sets the precision, one of `PRECISION_*`, overriding the config. Call it at `before_run`: the loss scaling of a
    /// checkpoint is restored after that point. [train-thread]
    pub set_precision: unsafe extern "C" fn(host: *mut c_void, precision: u32) -> HrStatus,
    /// Sets the loss scaling: initial scale, growth and backoff factor, and growth interval. An error unless the
    /// precision is PRECISION_FP16. [train-thread]
    pub set_loss_scaling: unsafe extern "C" fn(
        host: *mut c_void,
        scale: f64,
        growth: f64,
        backoff: f64,
        interval: u64,
    ) -> HrStatus,
}
