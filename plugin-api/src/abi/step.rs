//! The extension for settings of the training step.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const STEP: &str = "hookrack.step/1";

/// Settings of the training step.
#[repr(C)]
#[derive(StableAbi)]
pub struct StepTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Turns anomaly mode on (1) or off (0), for the process. While it is on, a backward pass that produces NaN fails
    /// with the name of the function; training is about 150 times slower. [train-thread]
    pub set_anomaly_mode: unsafe extern "C" fn(host: *mut c_void, on: u32) -> HrStatus,
    /// Sets the number of micro-batches per batch, from the next iteration on. [train-thread]
    pub set_accumulation: unsafe extern "C" fn(host: *mut c_void, parts: u64) -> HrStatus,
}
