//! The extension that tells what the mean of the loss is taken over.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const LOSS: &str = "hookrack.loss/1";

/// What is known about the loss beside its value.
#[repr(C)]
#[derive(StableAbi)]
pub struct LossTable {
    /// Who made this table.
    pub header: HrHeader,
    /// What the mean of the current loss is taken over: how many labels count, or what they weigh together; the rows
    /// where each counts as one. 0 where no label counts: the loss is then NaN and stands for nothing. Reads the labels,
    /// so it waits for the device where they are not on the CPU. [train-thread]
    pub weight: unsafe extern "C" fn(host: *mut c_void, out: *mut f64) -> HrStatus,
}
