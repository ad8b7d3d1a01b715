//! The hook table: what the host calls.

use super::{HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrValue, TrainerHandle};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// One kind of hook. Frozen for the major version: new points are new codes of `on_point`.
#[repr(C)]
#[derive(StableAbi)]
pub struct HookBase {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Its `type` in configs. [borrowed for the process]
    pub name: HrStr,
    /// A JSON object: doc, points, level, params, mutates, reads, writes. docs/abi.md has its fields. [any-thread]
    /// [borrowed for the process]
    pub manifest: unsafe extern "C" fn() -> HrStr,
    /// Creates an instance with its settings. `trainer` stays valid until `destroy` returns. [train-thread] [settings
    /// borrowed until return]
    pub create: unsafe extern "C" fn(
        trainer: *const TrainerHandle,
        settings: *const HrValue,
        out: *mut *mut c_void,
    ) -> HrStatus,
    /// Destroys an instance. [train-thread]
    pub destroy: unsafe extern "C" fn(instance: *mut c_void),
    /// Called at each point that the manifest lists. Returns OK for an unknown code. [train-thread]
    pub on_point: unsafe extern "C" fn(
        instance: *mut c_void,
        point: u32,
        trainer: *const TrainerHandle,
    ) -> HrStatus,
    /// Saves what a resumed run needs. [train-thread]
    pub save_state:
        unsafe extern "C" fn(instance: *mut c_void, writer: *const HrStateWriter) -> HrStatus,
    /// Restores it. [train-thread]
    pub load_state:
        unsafe extern "C" fn(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus,
}
