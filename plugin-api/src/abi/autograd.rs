//! The extension by which a hook says whether gradients are recorded.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const AUTOGRAD: &str = "hookrack.autograd/1";

/// Whether operators record gradients.
#[repr(C)]
#[derive(StableAbi)]
pub struct AutogradTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Records gradients (1) or not (0) from here on, and says how it was. What the hook leaves changed is put back when
    /// the call to it returns. [train-thread]
    pub set_recording: unsafe extern "C" fn(host: *mut c_void, on: u32, was: *mut u32) -> HrStatus,
}
