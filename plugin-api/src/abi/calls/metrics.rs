//! The metrics of the run as objects.

use super::Host;
use crate::abi::{
    HrHeader, HrMetricInfo, HrScalarSink, HrStatus, HrStr, METRIC_SO_FAR, METRICS, MetricTable,
};
use crate::error::{Error, Result};
use std::ffi::c_void;

/// What a metric is, with texts of its own.
pub struct MetricInfo {
    /// Its instance name.
    pub name: String,
    /// Its type.
    pub type_name: String,
    /// The unit of its value.
    pub unit: String,
    /// The phase that it is computed in.
    pub phase: u32,
    /// 1, -1, or 0 where neither direction is better.
    pub better: i32,
}

impl Host {
    fn metric_table(self) -> Result<&'static MetricTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(METRICS).cast::<MetricTable>().as_ref() }.ok_or_else(|| {
            Error::new(format!(
                "this host is older than `{METRICS}`: it gives metrics' values alone"
            ))
        })
    }

    /// The metric at a place; `None` past the last.
    pub fn metric_info(self, index: usize) -> Result<Option<MetricInfo>> {
        let none = HrStr::EMPTY;
        let mut out = HrMetricInfo { name: none, type_name: none, unit: none, phase: 0, better: 0 };
        // SAFETY: the host writes one description; its texts are copied at once.
        let status = unsafe { (self.metric_table()?.at)(self.raw(), index, &raw mut out) };
        // SAFETY: as above.
        let own = |text: HrStr| unsafe { text.to_lossy() }.into_owned();
        Ok(self.present(status, out)?.map(|found| MetricInfo {
            name: own(found.name),
            type_name: own(found.type_name),
            unit: own(found.unit),
            phase: found.phase,
            better: found.better,
        }))
    }

    /// What the metric at a place comes to so far: its values by suffix.
    pub fn metric_so_far(self, index: usize) -> Result<Vec<(String, f64)>> {
        let mut values: Vec<(String, f64)> = Vec::new();
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw mut values).cast(),
            put: keep,
        };
        let table = self.metric_table()?;
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
