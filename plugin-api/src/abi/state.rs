//! Saving and restoring a hook's state in checkpoints.

use super::{HrHeader, HrStatus, HrStr, HrTensor, HrValue};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// Receives the state of a hook, entry by entry. Valid until the call returns. [train-thread]
#[repr(C)]
#[derive(StableAbi)]
pub struct HrStateWriter {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The first argument of each function.
    pub sink: *mut c_void,
    /// Saves a value. [borrowed until return]
    pub put_value:
        unsafe extern "C" fn(sink: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus,
    /// Saves a tensor's contents. [borrowed until return]
    pub put_tensor:
        unsafe extern "C" fn(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus,
}

/// The saved state of a hook, by key. Valid until the call returns. [train-thread]
#[repr(C)]
#[derive(StableAbi)]
pub struct HrStateReader {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The first argument of each function.
    pub source: *mut c_void,
    /// A saved value; null if there is none. [borrowed until return of the hook]
    pub value: unsafe extern "C" fn(source: *mut c_void, key: HrStr) -> *const HrValue,
    /// A saved tensor, to be released by the caller; ABSENT if there is none.
    pub tensor:
        unsafe extern "C" fn(source: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus,
}
