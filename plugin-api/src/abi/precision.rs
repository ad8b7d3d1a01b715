//! The extension by which a hook chooses the arithmetic of a run.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PRECISION: &str = "hookrack.precision/1";

/// 32-bit floats.
pub const PRECISION_FP32: u32 = 0;
/// Brain floats where they are safe.
pub const PRECISION_BF16: u32 = 1;
/// Half floats where they are safe, with a scaled loss.
pub const PRECISION_FP16: u32 = 2;

/// The arithmetic of forward and backward passes.
#[repr(C)]
#[derive(StableAbi)]
pub struct PrecisionTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Chooses one of `PRECISION_*` in place of the config's. Call it at `before_run`: what a checkpoint keeps of loss
    /// scaling is put back after that point. [train-thread]
    pub set_precision: unsafe extern "C" fn(host: *mut c_void, precision: u32) -> HrStatus,
    /// Begins loss scaling anew: the first scale, the factors by which it grows and shrinks, and how many good steps in
    /// a row it grows after. An error unless the precision is PRECISION_FP16. [train-thread]
    pub set_loss_scaling: unsafe extern "C" fn(
        host: *mut c_void,
        scale: f64,
        growth: f64,
        backoff: f64,
        interval: u64,
    ) -> HrStatus,
}
