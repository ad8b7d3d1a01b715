//! The extension for the outputs of layers.

use super::{HrHeader, HrStatus, HrStr, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const LAYERS: &str = "hookrack.layers/1";

/// Outputs of the model's layers by name: the part of its parameters' names before `.weight`.
#[repr(C)]
#[derive(StableAbi)]
pub struct LayerTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Keeps the outputs of all layers whose names match `pattern`, from the next forward pass on. Their indices are
    /// written to `indices`, at most `capacity`, and their number to `count`. It is an error if none matches, and for a model
    /// that does not give any: TorchScript, graph mode. [train-thread] [borrowed until return]
    pub watch: unsafe extern "C" fn(
        host: *mut c_void,
        pattern: HrStr,
        indices: *mut usize,
        capacity: usize,
        count: *mut usize,
    ) -> HrStatus,
    /// The name of the layer at `index`; ABSENT past the last. [train-thread] [borrowed for the run]
    pub name: unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut HrStr) -> HrStatus,
    /// The output of the layer at `index` in the last forward pass of this iteration; ABSENT if there was none. It is
    /// read-only: operators that write to it are refused. [train-thread] [owned by the caller]
    pub output:
        unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut HrTensor) -> HrStatus,
}
