//! The extension for saving tensors in the run directory.

use super::{HrHeader, HrStatus, HrStr, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const ARTIFACTS: &str = "hookrack.artifacts/1";

/// The run directory, and tensors saved in it.
#[repr(C)]
#[derive(StableAbi)]
pub struct ArtifactTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The run directory; empty if the run has none. [train-thread] [borrowed for the run]
    pub run_dir: unsafe extern "C" fn(host: *mut c_void) -> HrStr,
    /// Writes tensors to `file` (relative to the run directory, ending in `.safetensors`) atomically. [train-thread]
    /// [borrowed until return]
    pub save_tensors: unsafe extern "C" fn(
        host: *mut c_void,
        file: HrStr,
        names: *const HrStr,
        tensors: *const HrTensor,
        count: usize,
    ) -> HrStatus,
}
