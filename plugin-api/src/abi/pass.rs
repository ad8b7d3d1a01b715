//! The extension by which a hook makes a pass of its own over data.

use super::{HrHeader, HrStatus, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PASS: &str = "hookrack.pass/1";

/// A hook's own pass over data, beside that of the run, which it leaves where it is. One at a time.
#[repr(C)]
#[derive(StableAbi)]
pub struct PassTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Begins at the first batch of a phase's data, and says how many there are; ABSENT where the phase has no data.
    /// [train-thread]
    pub begin: unsafe extern "C" fn(host: *mut c_void, phase: u32, batches: *mut u64) -> HrStatus,
    /// The next batch; ABSENT after the last. [train-thread] [owned by the caller: both handles]
    pub next: unsafe extern "C" fn(
        host: *mut c_void,
        input: *mut HrTensor,
        label: *mut HrTensor,
    ) -> HrStatus,
    /// Runs the model on an input without recording gradients: as in training (1), which moves running statistics, or
    /// as in an evaluation (0), whatever the phase of the run is. [train-thread] [owned by the caller: the output]
    pub forward: unsafe extern "C" fn(
        host: *mut c_void,
        input: HrTensor,
        training: u32,
        output: *mut HrTensor,
    ) -> HrStatus,
}
