//! The extension for second names of checkpoints, and for loading a checkpoint by its name.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const CHECKPOINT_NAMES: &str = "hookrack.checkpoint_names/1";

/// Second names of checkpoints.
#[repr(C)]
#[derive(StableAbi)]
pub struct CheckpointNameTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Sets the pattern of a second name for the checkpoints that this hook requests; empty for none. It replaces the
    /// previous pattern. `{iter}` and `{epoch}` are replaced by the checkpoint's. A pattern without either names one
    /// checkpoint at a time: the best one if the hook called `keep` with a metric, otherwise the newest. In `folder/pattern`
    /// the folder, which is created if missing, gets the checkpoints of the run: call it before the first one is
    /// written. [train-thread] [borrowed until return]
    pub give: unsafe extern "C" fn(host: *mut c_void, pattern: HrStr) -> HrStatus,
    /// Like `load` of `hookrack.checkpoints/1`, but only from checkpoints whose second name ends in `suffix`. [train-thread]
    /// [borrowed until return]
    pub load: unsafe extern "C" fn(
        host: *mut c_void,
        path: HrStr,
        epoch: i64,
        suffix: HrStr,
        weights: u32,
        strict: u32,
    ) -> HrStatus,
}
