//! The extension for the history of scalars, and for scopes of names.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const HISTORY: &str = "hookrack.history/1";

/// One value of a scalar.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, StableAbi)]
pub struct HrScalarPoint {
    /// The training iteration in which it was logged.
    pub iter: u64,
    /// The number of training samples consumed by then.
    pub samples: u64,
    /// The value.
    pub value: f64,
}

/// The history of scalars, and scopes of names.
#[repr(C)]
#[derive(StableAbi)]
pub struct HistoryTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The mean of the last `window` values without NaN, of which the host keeps a limited number; ABSENT if there is
    /// none. [train-thread]
    pub mean:
        unsafe extern "C" fn(host: *mut c_void, key: u32, window: usize, out: *mut f64) -> HrStatus,
    /// The mean of all values since the start of the run without NaN; ABSENT if there is none. [train-thread]
    pub global_mean: unsafe extern "C" fn(host: *mut c_void, key: u32, out: *mut f64) -> HrStatus,
    /// Writes the last values, at most `capacity`, to `out`, oldest first, and their number to `count`. [train-thread]
    pub recent: unsafe extern "C" fn(
        host: *mut c_void,
        key: u32,
        out: *mut HrScalarPoint,
        capacity: usize,
        count: *mut usize,
    ) -> HrStatus,
    /// Enters a scope, nested in those already entered. It prefixes the names that this instance interns from now on:
    /// in `head`, `loss` is `train/head/loss` and `@norm` is `hook/<instance>/head/norm`. A name with '/' is not
    /// changed. [train-thread] [borrowed until return]
    pub enter_scope: unsafe extern "C" fn(host: *mut c_void, name: HrStr) -> HrStatus,
    /// Leaves the innermost scope; ABSENT if there is none. [train-thread]
    pub leave_scope: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
}
