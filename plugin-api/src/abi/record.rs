//! The extension for recording every value of a scalar.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const RECORD: &str = "hookrack.record/1";

/// Recording every value of a scalar.
#[repr(C)]
#[derive(StableAbi)]
pub struct RecordTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Adds the scalars of the current iteration to the files, but not to the console. They are written to disk when the
    /// writers next write. [train-thread]
    pub record: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
}
