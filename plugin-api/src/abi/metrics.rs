//! The extension that gives hooks the metrics of the run as objects: what each is, and what it comes to so far.

use super::{HrHeader, HrScalarSink, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const METRICS: &str = "hookrack.metrics/1";

/// A metric of the run in one phase: what it is, whether it has a value yet or not.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrMetricInfo {
    /// Its instance name. [borrowed until the point returns]
    pub name: HrStr,
    /// The `type` by which a config names it. [borrowed until the point returns]
    pub type_name: HrStr,
    /// The unit of its value; empty for a plain number. [borrowed until the point returns]
    pub unit: HrStr,
    /// The phase that it is computed in.
    pub phase: u32,
    /// 1 where higher is better, -1 where lower is, 0 where neither is.
    pub better: i32,
}

/// The metrics of the run.
#[repr(C)]
#[derive(StableAbi)]
pub struct MetricTable {
    /// Who made this table.
    pub header: HrHeader,
    /// The metric at a place: in the order of the config, once for each phase. ABSENT past the last. [train-thread]
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
