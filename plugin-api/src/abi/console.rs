//! The extension for the progress line.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const CONSOLE: &str = "hookrack.console/1";

/// The progress line of the console. Without one, both calls do nothing.
#[repr(C)]
#[derive(StableAbi)]
pub struct ConsoleTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Sets the scalars of the line, in order; a name without '/' is a scalar of training. [train-thread] [borrowed until
    /// return]
    pub show:
        unsafe extern "C" fn(host: *mut c_void, names: *const HrStr, count: usize) -> HrStatus,
    /// Redraws the line on a terminal. Elsewhere a line is printed only when scalars are written. [train-thread]
    pub redraw: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
}
