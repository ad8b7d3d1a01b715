//! The extension for choosing which checkpoints are kept, and for loading one.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const CHECKPOINTS: &str = "hookrack.checkpoints/1";

/// Which checkpoints are kept, and which one is loaded.
#[repr(C)]
#[derive(StableAbi)]
pub struct CheckpointTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Sets which of the checkpoints that this hook requests are kept, replacing the previous setting: the `last` newest
    /// (negative for all), one every `every_epochs` epochs and every `every_iters` iterations (0 for none), and the `top`
    /// best by `metric` (empty for none), where `higher` is 1 if higher is better. [train-thread] [borrowed until return]
    pub keep: unsafe extern "C" fn(
        host: *mut c_void,
        last: i64,
        every_epochs: u64,
        every_iters: u64,
        metric: HrStr,
        higher: u32,
        top: u64,
    ) -> HrStatus,
    /// Loads a checkpoint after this point; call it at `before_train`. `path` is a checkpoint or a run directory, empty
    /// for this run's; `epoch` selects the checkpoint, negative for the newest. `weights` 1 loads only the model;
    /// `strict` 0 skips tensors that do not match. [train-thread] [borrowed until return]
    pub load: unsafe extern "C" fn(
        host: *mut c_void,
        path: HrStr,
        epoch: i64,
        weights: u32,
        strict: u32,
    ) -> HrStatus,
}
