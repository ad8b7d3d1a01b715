//! The extension for turning gradient recording on and off.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const AUTOGRAD: &str = "hookrack.autograd/1";

/// Gradient recording.
#[repr(C)]
#[derive(StableAbi)]
pub struct AutogradTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Turns gradient recording on (1) or off (0) and returns the previous mode. The host restores the mode when the hook
    /// returns. [train-thread]
    pub set_recording: unsafe extern "C" fn(host: *mut c_void, on: u32, was: *mut u32) -> HrStatus,
}
