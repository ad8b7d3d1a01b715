//! The extension for choosing whether the learning rate schedule counts epochs or iterations.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const LR: &str = "hookrack.lr/1";

/// The learning rate schedule.
#[repr(C)]
#[derive(StableAbi)]
pub struct LrTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Makes the schedule step by epoch (`by_epoch` 1) or by iteration (0), overriding the config; the role
    /// `on_lr_adjust` is called accordingly. Call it at `before_run`: it is an error to change this once the schedule
    /// has started. [train-thread]
    pub count_by_epoch: unsafe extern "C" fn(host: *mut c_void, by_epoch: u32) -> HrStatus,
}
