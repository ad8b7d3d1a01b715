//! The hook table: what the host calls.

use super::{HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrValue, TrainerHandle};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// One kind of hook. Frozen for the major version: new points are new codes of `on_point`.
#[repr(C)]
#[derive(StableAbi)]
pub struct HookBase {
    /// Who made this table.
    pub header: HrHeader,
    /// The `type` by which a config names it. [borrowed for the process]
    pub name: HrStr,
    /// A JSON object: doc, points, level, params, mutates, reads, writes. docs/abi.md has its fields. [any-thread]
    /// [borrowed for the process]
    pub manifest: unsafe extern "C" fn() -> HrStr,
    /// Makes an instance with its settings. `trainer` stays valid until `destroy` returns. [train-thread]
    /// [settings borrowed until return]
    pub create: unsafe extern "C" fn(
        trainer: *const TrainerHandle,
        settings: *const HrValue,
        out: *mut *mut c_void,
    ) -> HrStatus,
    /// Ends an instance. [train-thread]
    pub destroy: unsafe extern "C" fn(instance: *mut c_void),
    /// Called at each point that the manifest lists. An unknown code is answered with OK. [train-thread]
    pub on_point: unsafe extern "C" fn(
        instance: *mut c_void,
        point: u32,
        trainer: *const TrainerHandle,
    ) -> HrStatus,
    /// Puts what a resumed run needs into `writer`. [train-thread]
    pub save_state:
        unsafe extern "C" fn(instance: *mut c_void, writer: *const HrStateWriter) -> HrStatus,
    /// Takes it back. [train-thread]
    pub load_state:
        unsafe extern "C" fn(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus,
}
