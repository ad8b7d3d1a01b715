//! The extension for building additional models.

use super::{HrHeader, HrStatus, HrTensor, HrValue};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const MODELS: &str = "hookrack.models/1";

/// Models that are not trained, such as a teacher.
#[repr(C)]
#[derive(StableAbi)]
pub struct ModelTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Builds a model for the run's data from a table like `[model]`, with its `type`. The key `weights` is a path as in
    /// `NamedTensorTable`, which must have all of the model's tensors. Does not change the run's random state.
    /// [train-thread] [borrowed until return; the model stays until the run ends]
    pub build: unsafe extern "C" fn(
        host: *mut c_void,
        settings: *const HrValue,
        model: *mut u64,
    ) -> HrStatus,
    /// Runs such a model on an input in evaluation mode, without recording gradients. [train-thread] [owned by the
    /// caller: the output]
    pub forward: unsafe extern "C" fn(
        host: *mut c_void,
        model: u64,
        input: HrTensor,
        output: *mut HrTensor,
    ) -> HrStatus,
}
