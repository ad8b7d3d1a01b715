//! The extension by which a hook freezes parameters and changes what their groups are stepped with.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PARAMS: &str = "hookrack.params/1";

/// Parameters by name, and the groups that the optimizer steps alike.
#[repr(C)]
#[derive(StableAbi)]
pub struct ParamTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Whether the parameter at `index` of LIST_PARAMS is trained: 0 or 1. [train-thread]
    pub trainable: unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut u32) -> HrStatus,
    /// Unfreezes (1) or freezes (0) every parameter whose name matches `pattern`, and says how many
    /// they are. `*` is any run of letters. One that matches nothing is an error, and so is one that would freeze
    /// the last. What was frozen from the start gets fresh state in the optimizer.
    /// [train-thread] [borrowed until return]
    pub set_trainable: unsafe extern "C" fn(
        host: *mut c_void,
        pattern: HrStr,
        trainable: u32,
        out: *mut usize,
    ) -> HrStatus,
    /// The group of the parameter at `index` of LIST_PARAMS. [train-thread]
    pub group_of:
        unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut usize) -> HrStatus,
    /// A group's name. [train-thread] [borrowed for the run]
    pub group_name:
        unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut HrStr) -> HrStatus,
    /// A group's learning rate before any schedule. [train-thread]
    pub base_lr: unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets it; the schedule starts from it in its next step. [train-thread]
    pub set_base_lr: unsafe extern "C" fn(host: *mut c_void, group: usize, value: f64) -> HrStatus,
    /// A group's momentum, or Adam's first beta; ABSENT for an optimizer without. [train-thread]
    pub momentum: unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets it; an error for an optimizer without. [train-thread]
    pub set_momentum: unsafe extern "C" fn(host: *mut c_void, group: usize, value: f64) -> HrStatus,
    /// A group's weight decay. [train-thread]
    pub weight_decay:
        unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets it. [train-thread]
    pub set_weight_decay:
        unsafe extern "C" fn(host: *mut c_void, group: usize, value: f64) -> HrStatus,
}
