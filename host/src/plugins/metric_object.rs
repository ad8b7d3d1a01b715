//! A live metric of one phase: its description, and the calls to its table, which are never nested.

use super::MetricType;
use super::boundary::may_throw;
use super::instance::create;
use super::services::{Call, Endpoint};
use crate::context::{LiveMetric, MetricDescription};
use hookrack_plugin_api::abi::{
    HrHeader, HrScalarSink, HrStateReader, HrStateWriter, HrStatus, HrStr, MetricBase,
    TrainerHandle,
};
use hookrack_plugin_api::{Phase, Value};
use std::cell::Cell;
use std::ffi::c_void;

/// A live metric of one phase.
pub(super) struct MetricObject {
    pub(super) description: MetricDescription,
    table: &'static MetricBase,
    // Made by the table; destroyed with this.
    object: *mut c_void,
    pub(super) endpoint: &'static Endpoint,
    is_called: Cell<bool>,
}

impl MetricObject {
    /// Calls the table, unless a call is in progress: a metric that reads its own value would be borrowed twice.
    fn call(&self, call: impl FnOnce(&MetricBase, *mut c_void) -> HrStatus) -> HrStatus {
        if self.is_called.replace(true) {
            self.endpoint.set_error("it is being called: try again later");
            return HrStatus::ERROR;
        }
        let status = self.endpoint.during(Call::Life, || call(self.table, self.object));
        self.is_called.set(false);
        status
    }
}

// SAFETY of each call: the object was made by this table's `create` and is alive; what is lent lives until the call returns.
impl MetricObject {
    /// Makes an object.
    pub(super) fn new(
        metric: &MetricType,
        name: &str,
        phase: Phase,
        settings: &Value,
        (endpoint, handle): (&'static Endpoint, &'static TrainerHandle),
    ) -> Result<Self, String> {
        let description = MetricDescription {
            name: name.to_owned(),
            type_name: metric.name().to_owned(),
            unit: metric.manifest.unit.clone(),
            phase,
            better: metric.manifest.better,
        };
        let object = create(metric.table.create, handle, endpoint, settings)?;
        let (table, is_called) = (metric.table, Cell::new(false));
        Ok(Self { description, table, object, endpoint, is_called })
    }

    /// Adds the batch in the context's slots.
    pub(super) fn update(&self, handle: &TrainerHandle) -> HrStatus {
        // SAFETY: see above; the handle outlives the object.
        self.call(|table, it| unsafe { (table.update)(it, handle) })
    }

    /// Forgets what it has gathered.
    pub(super) fn reset(&self) -> HrStatus {
        // SAFETY: see above.
        self.call(|table, it| unsafe { (table.reset)(it) })
    }

    pub(super) fn compute(&self, scope: u32, sink: &HrScalarSink) -> HrStatus {
        // SAFETY: see above.
        self.call(|table, it| unsafe { (table.compute)(it, scope, sink) })
    }

    pub(super) fn save(&self, writer: *const HrStateWriter) -> HrStatus {
        // SAFETY: see above.
        self.call(|table, it| unsafe { (table.save_state)(it, writer) })
    }

    pub(super) fn load(&self, reader: *const HrStateReader) -> HrStatus {
        // SAFETY: see above.
        self.call(|table, it| unsafe { (table.load_state)(it, reader) })
    }

    pub(super) fn merge(&self, reader: *const HrStateReader) -> HrStatus {
        // SAFETY: see above.
        self.call(|table, it| unsafe { (table.merge)(it, reader) })
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
        self.endpoint
            .check(self.compute(scope, &sink))
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
