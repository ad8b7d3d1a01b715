//! The extension for tensors by name: from files, and shared between hooks.

use super::{HrHeader, HrStatus, HrStr, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const NAMED_TENSORS: &str = "hookrack.named_tensors/1";

/// Tensors by name.
#[repr(C)]
#[derive(StableAbi)]
pub struct NamedTensorTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Reads the tensors of a safetensors file, of an index of such files, or of the model in a checkpoint or run
    /// directory, and writes their number to `count`. A relative path is relative to the working directory.
    /// [train-thread] [borrowed until return]
    pub load: unsafe extern "C" fn(host: *mut c_void, path: HrStr, count: *mut usize) -> HrStatus,
    /// Takes the tensor at `index` of those that the last `load` read; ABSENT past the last, and if it was already
    /// taken. [train-thread] [the name is borrowed until the next `load`; the tensor is owned by the caller]
    pub take: unsafe extern "C" fn(
        host: *mut c_void,
        index: usize,
        name: *mut HrStr,
        tensor: *mut HrTensor,
    ) -> HrStatus,
    /// Shares a tensor with other hooks under a name, replacing a previous one. It stays until it is removed or the run
    /// ends. [train-thread] [borrowed until return]
    pub put: unsafe extern "C" fn(host: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus,
    /// A tensor shared by a hook; ABSENT if there is none. [train-thread] [owned by the caller]
    pub tensor: unsafe extern "C" fn(host: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus,
    /// Removes a shared tensor; ABSENT if there is none. [train-thread]
    pub remove: unsafe extern "C" fn(host: *mut c_void, key: HrStr) -> HrStatus,
}
