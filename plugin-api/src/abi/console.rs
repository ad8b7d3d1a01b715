//! The extension by which a hook has a say in the progress line.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const CONSOLE: &str = "hookrack.console/1";

/// The progress line of the console. A run that prints none takes both calls and does nothing.
#[repr(C)]
#[derive(StableAbi)]
pub struct ConsoleTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Says which scalars the line shows, in their order; a name without a slash is one of training.
    /// [train-thread] [borrowed until return]
    pub show:
        unsafe extern "C" fn(host: *mut c_void, names: *const HrStr, count: usize) -> HrStatus,
    /// Draws the line anew, on a terminal. Elsewhere a line is printed only when the writers write. [train-thread]
    pub redraw: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
}
