//! The extension by which a hook has every value of a scalar kept.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const RECORD: &str = "hookrack.record/1";

/// The files that scalars are written to.
#[repr(C)]
#[derive(StableAbi)]
pub struct RecordTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Writes the scalars of the current iteration to the files, but not to the console: called after each
    /// iteration, it keeps every value. They are on the disk when the writers next write. [train-thread]
    pub record: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
}
