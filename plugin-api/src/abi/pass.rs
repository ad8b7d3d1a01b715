//! The extension for a hook's own pass over data.

use super::{HrHeader, HrStatus, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PASS: &str = "hookrack.pass/1";

/// A pass of hooks over data, independent of the run's own. One at a time.
#[repr(C)]
#[derive(StableAbi)]
pub struct PassTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Starts at the first batch of a phase's data and returns the number of batches; ABSENT if the phase has no data.
    /// [train-thread]
    pub begin: unsafe extern "C" fn(host: *mut c_void, phase: u32, batches: *mut u64) -> HrStatus,
    /// The next batch; ABSENT after the last. [train-thread] [owned by the caller: both handles]
    pub next: unsafe extern "C" fn(
        host: *mut c_void,
        input: *mut HrTensor,
        label: *mut HrTensor,
    ) -> HrStatus,
    /// Runs the model on an input without recording gradients, in training mode (1), which updates running statistics, or
    /// in evaluation mode (0), regardless of the phase. [train-thread] [owned by the caller: the output]
    pub forward: unsafe extern "C" fn(
        host: *mut c_void,
        input: HrTensor,
        training: u32,
        output: *mut HrTensor,
    ) -> HrStatus,
}
