//! A live metric of one phase: its description, and the calls to its table, which are never nested.

use super::boundary::may_throw;
use super::services::{Call, Endpoint};
use crate::context::{LiveMetric, MetricDescription};
use hookrack_plugin_api::abi::{HrHeader, HrScalarSink, HrStatus, HrStr, MetricBase};
use std::cell::Cell;
use std::ffi::c_void;

/// A live metric of one phase.
pub(super) struct MetricObject {
    pub(super) description: MetricDescription,
    pub(super) table: &'static MetricBase,
    // Made by the table; destroyed with this.
    pub(super) object: *mut c_void,
    pub(super) endpoint: &'static Endpoint,
    pub(super) is_called: Cell<bool>,
}

impl MetricObject {
    /// Calls the table, unless a call is in progress: a metric that reads its own value would be borrowed twice.
    pub(super) fn call(&self, call: impl FnOnce(&MetricBase, *mut c_void) -> HrStatus) -> HrStatus {
        if self.is_called.replace(true) {
            self.endpoint.set_error("it is being called: try again later");
            return HrStatus::ERROR;
        }
        let status = self.endpoint.during(Call::Life, || call(self.table, self.object));
        self.is_called.set(false);
        status
    }
}

impl LiveMetric for MetricObject {
    fn description(&self) -> &MetricDescription {
        &self.description
    }

    fn values(&self, scope: u32) -> Result<Vec<(String, f64)>, String> {
        let mut values = Vec::new();
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw mut values).cast(),
            put: keep,
        };
        // SAFETY: the object is alive and not being called; sink and values live until the call returns.
        let compute =
            |table: &MetricBase, object| unsafe { (table.compute)(object, scope, &raw const sink) };
        let status = self.call(compute);
        self.endpoint
            .check(status)
            .map_err(|why| format!("metric `{}`: {why}", self.description.name))?;
        Ok(values)
    }
}

impl Drop for MetricObject {
    fn drop(&mut self) {
        // SAFETY: made by this table and not used again.
        self.endpoint.during(Call::Life, || unsafe {
            may_throw!(self.table.destroy, fn(*mut c_void))(self.object);
        });
    }
}

unsafe extern "C" fn keep(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus {
    // SAFETY: `values` made the sink, and waits; the metric lends the suffix until this returns.
    let (values, suffix) = unsafe { (&mut *sink.cast::<Vec<(String, f64)>>(), suffix.to_lossy()) };
    Endpoint::guard_calling(|| {
        values.push((suffix.into_owned(), value));
        Ok(HrStatus::OK)
    })
}
