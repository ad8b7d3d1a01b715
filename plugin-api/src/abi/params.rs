//! The extension for freezing parameters, and for the settings of parameter groups.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PARAMS: &str = "hookrack.params/1";

/// Trainable parameters, and the groups of the optimizer.
#[repr(C)]
#[derive(StableAbi)]
pub struct ParamTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Whether the parameter at `index` of LIST_PARAMS is trained: 0 or 1. [train-thread]
    pub trainable: unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut u32) -> HrStatus,
    /// Unfreezes (1) or freezes (0) every parameter whose name matches `pattern`, and returns their number. `*` matches
    /// any characters. It is an error if none matches, or if no trainable parameter would be left. Parameters that the
    /// config froze get new optimizer state. [train-thread] [borrowed until return]
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
    /// A group's momentum, or the first beta of an Adam variant; ABSENT if the optimizer has neither. [train-thread]
    pub momentum: unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets it; an error if the optimizer has none. [train-thread]
    pub set_momentum: unsafe extern "C" fn(host: *mut c_void, group: usize, value: f64) -> HrStatus,
    /// A group's weight decay. [train-thread]
    pub weight_decay:
        unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets it. [train-thread]
    pub set_weight_decay:
        unsafe extern "C" fn(host: *mut c_void, group: usize, value: f64) -> HrStatus,
}
