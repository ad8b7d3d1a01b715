//! A metric without a run, for tests of plugins.

use super::MetricType;
use super::instance::create;
use super::metric_object::MetricObject;
use super::services::{Caller, handle_for};
use super::state_io::{gather, give_back};
use crate::context::{Context, LiveMetric as _, MetricDescription, RunParts};
use crate::engine::SavedState;
use hookrack_plugin_api::abi::{METRIC_EPOCH, TrainerHandle};
use hookrack_plugin_api::{Phase, Value};
use std::cell::Cell;
use std::rc::Rc;

/// A metric on its own.
pub struct MetricTrial {
    object: MetricObject,
    handle: &'static TrainerHandle,
    context: Rc<Context>,
}

impl MetricTrial {
    /// Makes one.
    pub fn new(
        metric: &MetricType,
        settings: &Value,
        context: &Rc<Context>,
    ) -> Result<Self, String> {
        let source = metric.source.file_name();
        let name = metric.name();
        let caller = Caller { name, source: &source, mutates: RunParts::NONE, is_metric: true };
        let (endpoint, handle) = handle_for(&caller, context);
        let description = MetricDescription {
            name: name.to_owned(),
            type_name: name.to_owned(),
            unit: metric.manifest.unit.clone(),
            phase: Phase::Val,
            better: metric.manifest.better,
        };
        let object = create(metric.table.create, handle, endpoint, settings)?;
        let (table, is_called) = (metric.table, Cell::new(false));
        let object = MetricObject { description, table, object, endpoint, is_called };
        Ok(Self { object, handle, context: Rc::clone(context) })
    }

    /// Adds the batch in the context's slots.
    pub fn update(&self) -> Result<(), String> {
        // SAFETY: the object was made by this table's `create`; the handle outlives it.
        let status = self.object.call(|table, it| unsafe { (table.update)(it, self.handle) });
        self.object.done(status).map_err(|failure| failure.why)
    }

    /// Removes all batches.
    pub fn reset(&self) -> Result<(), String> {
        self.object.done(self.object.reset()).map_err(|failure| failure.why)
    }

    /// Its values.
    pub fn values(&self) -> Result<Vec<(String, f64)>, String> {
        self.object.values(METRIC_EPOCH)
    }

    /// Its state.
    pub fn state(&self) -> Result<SavedState, String> {
        let state = gather(&self.context, |writer| {
            // SAFETY: the object is alive, and the writer until the call returns.
            let status = self.object.call(|table, it| unsafe { (table.save_state)(it, writer) });
            self.object.done(status)
        });
        state.map_err(|failure| failure.why)
    }

    /// Adds the batches of a saved state.
    pub fn merge(&self, state: &SavedState) -> Result<(), String> {
        give_back(&self.context, state, |reader| {
            // SAFETY: the object is alive, and the reader until the call returns.
            let status = self.object.call(|table, it| unsafe { (table.merge)(it, reader) });
            self.object.done(status).map_err(|failure| failure.why)
        })
    }
}
