//! The extension for collectives over the ranks of a run.

use super::{HrHeader, HrStatus, HrTensor};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const RANKS: &str = "hookrack.ranks/1";

/// A reduction: the sum.
pub const REDUCE_SUM: u32 = 0;
/// A reduction: the maximum.
pub const REDUCE_MAX: u32 = 1;
/// A reduction: the minimum.
pub const REDUCE_MIN: u32 = 2;

/// Collectives. Every rank must make the same calls in the same order, at the same points; if a rank fails, the call
/// fails on all others. They are refused in a hook that runs on the main rank only, and in the iterations of an
/// evaluation, because ranks may have different numbers of batches there. In a run of one process they return
/// immediately.
#[repr(C)]
#[derive(StableAbi)]
pub struct RankTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Replaces `count` numbers by their reduction over all ranks, `REDUCE_SUM`, `REDUCE_MAX` or `REDUCE_MIN`.
    /// [train-thread]
    pub all_reduce_numbers: unsafe extern "C" fn(
        host: *mut c_void,
        numbers: *mut f64,
        count: usize,
        reduction: u32,
    ) -> HrStatus,
    /// Replaces the contents of a tensor by their reduction over all ranks. It must have the same shape on all of them. One
    /// that belongs to the run must be declared in `mutates`. [train-thread]
    pub all_reduce:
        unsafe extern "C" fn(host: *mut c_void, tensor: HrTensor, reduction: u32) -> HrStatus,
    /// Replaces the contents of a tensor by those of rank `root`; `mutates` as for `all_reduce`. [train-thread]
    pub broadcast: unsafe extern "C" fn(host: *mut c_void, tensor: HrTensor, root: u32) -> HrStatus,
    /// The tensors of all ranks, stacked in a new first dimension in the order of ranks. `out` is the caller's own, released like
    /// any tensor that it made. [train-thread]
    pub all_gather:
        unsafe extern "C" fn(host: *mut c_void, tensor: HrTensor, out: *mut HrTensor) -> HrStatus,
    /// Waits until every rank has called it. [train-thread]
    pub barrier: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
}
