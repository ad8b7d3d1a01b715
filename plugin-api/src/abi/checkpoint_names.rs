//! The extension by which a hook gives its checkpoints a second name, and has one loaded by what it is called.

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
    /// Gives the checkpoints that this hook asks for a second name, in place of the pattern that it gave before; empty
    /// for none. `{iter}` and `{epoch}` stand for the checkpoint's. A pattern without either is the name of one
    /// checkpoint at a time: of the best by what the hook said to `keep`, else of the newest. [train-thread]
    /// [borrowed until return]
    pub give: unsafe extern "C" fn(host: *mut c_void, pattern: HrStr) -> HrStatus,
    /// As `load` of `hookrack.checkpoints/1`, from the checkpoints whose second name ends in `suffix`. [train-thread]
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
