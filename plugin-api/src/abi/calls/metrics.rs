//! The metrics of the run as objects.

use super::Host;
use super::wire::{Unwire, call};
use crate::abi::{
    HrHeader, HrMetricInfo, HrScalarSink, HrStatus, HrStr, METRIC_SO_FAR, MetricTable,
};
use crate::error::Result;
use std::ffi::c_void;

/// The description of a metric, with owned strings.
pub struct MetricInfo {
    /// Its instance name.
    pub name: String,
    /// Its type.
    pub type_name: String,
    /// The unit of its value.
    pub unit: String,
    /// The phase that it is computed in.
    pub phase: u32,
    /// 1 if higher is better, -1 if lower is, 0 if neither.
    pub better: i32,
}

impl Unwire for MetricInfo {
    type Raw = HrMetricInfo;
    unsafe fn unwire(raw: HrMetricInfo) -> Self {
        // SAFETY: by the contract.
        let own = |text: HrStr| unsafe { String::unwire(text) };
        Self {
            name: own(raw.name),
            type_name: own(raw.type_name),
            unit: own(raw.unit),
            phase: raw.phase,
            better: raw.better,
        }
    }
}

impl Host {
    /// The metric at an index; `None` past the last.
    pub fn metric_info(self, index: usize) -> Result<Option<MetricInfo>> {
        call!(self, self.table::<MetricTable>()?, at(index) -> Option<MetricInfo>)
    }

    /// The values so far of the metric at an index, by suffix.
    pub fn metric_so_far(self, index: usize) -> Result<Vec<(String, f64)>> {
        let mut values: Vec<(String, f64)> = Vec::new();
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw mut values).cast(),
            put: keep,
        };
        let table = self.table::<MetricTable>()?;
        // SAFETY: sink and values live until the call returns.
        self.check(unsafe { (table.compute)(self.raw(), index, METRIC_SO_FAR, &raw const sink) })?;
        Ok(values)
    }
}

unsafe extern "C" fn keep(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus {
    // SAFETY: `metric_so_far` made the sink, and waits; the suffix is lent until this returns.
    let (values, suffix) = unsafe { (&mut *sink.cast::<Vec<(String, f64)>>(), suffix.to_lossy()) };
    values.push((suffix.into_owned(), value));
    HrStatus::OK
}
