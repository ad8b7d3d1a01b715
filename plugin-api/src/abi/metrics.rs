//! The extension for the metrics of the run as objects: the description and the current value of each.

use super::{HrHeader, HrScalarSink, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const METRICS: &str = "hookrack.metrics/1";

/// A metric of the run in one phase, with or without a value.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrMetricInfo {
    /// Its instance name. [borrowed until the point returns]
    pub name: HrStr,
    /// Its `type` in configs. [borrowed until the point returns]
    pub type_name: HrStr,
    /// The unit of its value; empty for a plain number. [borrowed until the point returns]
    pub unit: HrStr,
    /// The phase it is computed in.
    pub phase: u32,
    /// 1 if higher is better, -1 if lower is, 0 if neither.
    pub better: i32,
}

/// The metrics of the run.
#[repr(C)]
#[derive(StableAbi)]
pub struct MetricTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The metric at an index: in the order of the config, once per phase. ABSENT past the last. [train-thread]
    pub at:
        unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut HrMetricInfo) -> HrStatus,
    /// Computes the values of the metric at an index for a `METRIC_*` scope, and passes them to `sink`. Changes nothing.
    /// An error while that metric itself is being called; ABSENT past the last. [train-thread] [borrowed until return]
    pub compute: unsafe extern "C" fn(
        host: *mut c_void,
        index: usize,
        scope: u32,
        sink: *const HrScalarSink,
    ) -> HrStatus,
}
