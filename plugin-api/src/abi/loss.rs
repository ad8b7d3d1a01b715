//! The extension for the denominator of the mean loss.

use super::{HrHeader, HrStatus};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const LOSS: &str = "hookrack.loss/1";

/// The weight of the loss.
#[repr(C)]
#[derive(StableAbi)]
pub struct LossTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The denominator of the mean loss: the number of labels that are not ignored, or their total class weight;
    /// otherwise the number of rows. 0 if all labels are ignored; the loss is then NaN. Waits for the device if the
    /// labels are not on the CPU. [train-thread]
    pub weight: unsafe extern "C" fn(host: *mut c_void, out: *mut f64) -> HrStatus,
}
