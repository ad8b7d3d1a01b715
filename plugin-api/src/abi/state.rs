//! How a hook's state goes into a checkpoint and comes back.

use super::{HrHeader, HrStatus, HrStr, HrTensor, HrValue};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// Takes a hook's state, entry by entry. Valid until the call returns. [train-thread]
#[repr(C)]
#[derive(StableAbi)]
pub struct HrStateWriter {
    /// Who made this table.
    pub header: HrHeader,
    /// Handed back to each function.
    pub sink: *mut c_void,
    /// Saves a value. [borrowed until return]
    pub put_value:
        unsafe extern "C" fn(sink: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus,
    /// Saves a tensor's contents. [borrowed until return]
    pub put_tensor:
        unsafe extern "C" fn(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus,
}

/// Gives a hook's state back, by key. Valid until the call returns. [train-thread]
#[repr(C)]
#[derive(StableAbi)]
pub struct HrStateReader {
    /// Who made this table.
    pub header: HrHeader,
    /// Handed back to each function.
    pub source: *mut c_void,
    /// A saved value; null where there is none. [borrowed until return of the hook]
    pub value: unsafe extern "C" fn(source: *mut c_void, key: HrStr) -> *const HrValue,
    /// A saved tensor, to be released by the caller; ABSENT where there is none.
    pub tensor:
        unsafe extern "C" fn(source: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus,
}
