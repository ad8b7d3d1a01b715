//! The extension by which a hook leaves files in the run directory.

use super::{HrHeader, HrStatus, HrStr, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const ARTIFACTS: &str = "hookrack.artifacts/1";

/// Files that a hook leaves in the run directory.
#[repr(C)]
#[derive(StableAbi)]
pub struct ArtifactTable {
    /// Who made this table.
    pub header: HrHeader,
    /// The run directory; empty where the run leaves none. [train-thread] [borrowed for the run]
    pub run_dir: unsafe extern "C" fn(host: *mut c_void) -> HrStr,
    /// Writes tensors to `file` (relative to the run directory, ending in `.safetensors`), whole or not at all.
    /// [train-thread] [borrowed until return]
    pub save_tensors: unsafe extern "C" fn(
        host: *mut c_void,
        file: HrStr,
        names: *const HrStr,
        tensors: *const HrTensor,
        count: usize,
    ) -> HrStatus,
}
