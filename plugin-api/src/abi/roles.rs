//! The extension for running the training forward role, or the configured loss.

use super::{HrHeader, HrStatus, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const ROLES: &str = "hookrack.roles/1";

/// The training forward role, and the configured loss of any tensors.
#[repr(C)]
#[derive(StableAbi)]
pub struct RoleTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Runs the training forward pass on the current batch again, through the hook that has that role, with gradient
    /// recording on, and sets SLOT_OUTPUT and SLOT_LOSS. Refused outside of training, and while that hook is being
    /// called. [train-thread]
    pub train_forward: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// The configured loss of an output and a label; the slots do not change. An error if the config has no loss.
    /// [train-thread] [owned by the caller: the loss]
    pub criterion_of: unsafe extern "C" fn(
        host: *mut c_void,
        output: HrTensor,
        label: HrTensor,
        loss: *mut HrTensor,
    ) -> HrStatus,
}
