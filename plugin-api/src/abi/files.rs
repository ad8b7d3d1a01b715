//! The extension for writing files in the run directory.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const FILES: &str = "hookrack.files/1";

/// Files in the run directory.
#[repr(C)]
#[derive(StableAbi)]
pub struct FileTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Writes `len` bytes to `file` (relative to the run directory; folders are created) atomically. [train-thread]
    /// [borrowed until return]
    pub write: unsafe extern "C" fn(
        host: *mut c_void,
        file: HrStr,
        bytes: *const u8,
        len: usize,
    ) -> HrStatus,
}
