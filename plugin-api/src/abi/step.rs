//! The extension by which a hook changes how a training step is made.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const STEP: &str = "hookrack.step/1";

/// How a training step is made.
#[repr(C)]
#[derive(StableAbi)]
pub struct StepTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Turns anomaly mode on (1) or off (0), for the process. While it is on, a backward pass that makes a NaN fails and
    /// names the function; everything is about 150 times slower. [train-thread]
    pub set_anomaly_mode: unsafe extern "C" fn(host: *mut c_void, on: u32) -> HrStatus,
    /// Sets into how many micro-batches a batch is cut, from the next iteration on. [train-thread]
    pub set_accumulation: unsafe extern "C" fn(host: *mut c_void, parts: u64) -> HrStatus,
}
