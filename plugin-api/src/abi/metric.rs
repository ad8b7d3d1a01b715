//! The metric table: a value that grows batch by batch.

use super::{HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrValue, TrainerHandle};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The value of the last batch alone.
pub const METRIC_STEP: u32 = 0;
/// The value over all batches since the last reset.
pub const METRIC_EPOCH: u32 = 1;
/// The same in the middle of a pass, for a hook that asks: nothing else is to be shown. A metric that does not know this
/// answers as to `METRIC_EPOCH`.
pub const METRIC_SO_FAR: u32 = 2;

/// Takes a metric's values. Valid until the call returns. [train-thread]
#[repr(C)]
#[derive(StableAbi)]
pub struct HrScalarSink {
    /// Who made this table.
    pub header: HrHeader,
    /// Handed back to the function.
    pub sink: *mut c_void,
    /// Takes one value; `suffix` is empty for the metric's main value. [borrowed until return]
    pub put: unsafe extern "C" fn(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus,
}

/// One kind of metric. Frozen for the major version.
#[repr(C)]
#[derive(StableAbi)]
pub struct MetricBase {
    /// Who made this table.
    pub header: HrHeader,
    /// The `type` by which a config names it. [borrowed for the process]
    pub name: HrStr,
    /// A JSON object: doc, params, unit, direction. [any-thread] [borrowed for the process]
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
    /// Takes the current batch in: output, label and loss are in `trainer`. [train-thread]
    pub update:
        unsafe extern "C" fn(instance: *mut c_void, trainer: *const TrainerHandle) -> HrStatus,
    /// Gives the values of a `METRIC_*` scope; does not change them. [train-thread]
    pub compute: unsafe extern "C" fn(
        instance: *mut c_void,
        scope: u32,
        sink: *const HrScalarSink,
    ) -> HrStatus,
    /// Forgets all batches. [train-thread]
    pub reset: unsafe extern "C" fn(instance: *mut c_void) -> HrStatus,
    /// Puts what was gathered into `writer`. [train-thread]
    pub save_state:
        unsafe extern "C" fn(instance: *mut c_void, writer: *const HrStateWriter) -> HrStatus,
    /// Replaces what was gathered. [train-thread]
    pub load_state:
        unsafe extern "C" fn(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus,
    /// Adds what another instance gathered. [train-thread]
    pub merge:
        unsafe extern "C" fn(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus,
}
