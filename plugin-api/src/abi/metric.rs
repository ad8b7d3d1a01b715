//! The metric table: a value that is accumulated over batches.

use super::{HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrValue, TrainerHandle};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The value of the last batch.
pub const METRIC_STEP: u32 = 0;
/// The value over all batches since the last reset.
pub const METRIC_EPOCH: u32 = 1;
/// The value in the middle of a pass, without side effects. A metric that does not know this scope answers as for
/// `METRIC_EPOCH`.
pub const METRIC_SO_FAR: u32 = 2;

/// Receives the values of a metric. Valid until the call returns. [train-thread]
#[repr(C)]
#[derive(StableAbi)]
pub struct HrScalarSink {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The first argument of the function.
    pub sink: *mut c_void,
    /// Receives one value; `suffix` is empty for the main value. [borrowed until return]
    pub put: unsafe extern "C" fn(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus,
}

/// One kind of metric. Frozen for the major version.
#[repr(C)]
#[derive(StableAbi)]
pub struct MetricBase {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Its `type` in configs. [borrowed for the process]
    pub name: HrStr,
    /// A JSON object: doc, params, unit, direction. [any-thread] [borrowed for the process]
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
    /// Adds the current batch: output, label and loss are those of `trainer`. [train-thread]
    pub update:
        unsafe extern "C" fn(instance: *mut c_void, trainer: *const TrainerHandle) -> HrStatus,
    /// Passes the values of a `METRIC_*` scope to the sink, without changing the metric. [train-thread]
    pub compute: unsafe extern "C" fn(
        instance: *mut c_void,
        scope: u32,
        sink: *const HrScalarSink,
    ) -> HrStatus,
    /// Removes all batches. [train-thread]
    pub reset: unsafe extern "C" fn(instance: *mut c_void) -> HrStatus,
    /// Saves the accumulated values. [train-thread]
    pub save_state:
        unsafe extern "C" fn(instance: *mut c_void, writer: *const HrStateWriter) -> HrStatus,
    /// Replaces the accumulated values by saved ones. [train-thread]
    pub load_state:
        unsafe extern "C" fn(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus,
    /// Adds the saved values of another instance. [train-thread]
    pub merge:
        unsafe extern "C" fn(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus,
}
