//! The extension by which one role runs another, or a part of it.

use super::{HrHeader, HrStatus, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const ROLES: &str = "hookrack.roles/1";

/// Roles that a hook has run.
#[repr(C)]
#[derive(StableAbi)]
pub struct RoleTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Runs the training forward pass of the batch in the slots once more, by whichever hook holds that role, with
    /// gradients being recorded; SLOT_OUTPUT and SLOT_LOSS are the new ones. Refused outside of training, and while the
    /// hook that holds the role is being called. [train-thread]
    pub train_forward: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// The configured loss of an output and a label; the slots stay as they are. An error where the config has no loss.
    /// [train-thread] [owned by the caller: the loss]
    pub criterion_of: unsafe extern "C" fn(
        host: *mut c_void,
        output: HrTensor,
        label: HrTensor,
        loss: *mut HrTensor,
    ) -> HrStatus,
}
