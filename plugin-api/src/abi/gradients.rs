//! The extension for gradients of any tensor with respect to others.

use super::{HrHeader, HrStatus, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const GRADIENTS: &str = "hookrack.gradients/1";

/// Gradients that are returned instead of added to those of the parameters.
#[repr(C)]
#[derive(StableAbi)]
pub struct GradientTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Writes the gradient of a tensor with one element with respect to each of `count` inputs, 0 for one that it does not
    /// depend on, to `out`. Gradients of parameters and the graph stay as they are. With `create_graph` 1 the results have a
    /// graph of their own. It is an error if an input does not record gradients. [train-thread] [owned by the caller: the
    /// gradients]
    pub compute: unsafe extern "C" fn(
        host: *mut c_void,
        of: HrTensor,
        inputs: *const HrTensor,
        count: usize,
        create_graph: u32,
        out: *mut HrTensor,
    ) -> HrStatus,
}
