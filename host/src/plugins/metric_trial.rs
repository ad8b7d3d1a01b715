//! A metric without a run, for tests of plugins.

use super::MetricType;
use super::metric_object::MetricObject;
use super::services::{Caller, handle_for};
use super::state_io::{gather, give_back};
use crate::context::{Context, LiveMetric as _, RunParts};
use crate::engine::SavedState;
use hookrack_plugin_api::abi::{METRIC_EPOCH, TrainerHandle};
use hookrack_plugin_api::{Phase, Value};
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
        let ends = handle_for(&caller, context);
        let object = MetricObject::new(metric, name, Phase::Val, settings, ends)?;
        Ok(Self { object, handle: ends.1, context: Rc::clone(context) })
    }

    /// Adds the batch in the context's slots.
    pub fn update(&self) -> Result<(), String> {
        self.object.done(self.object.update(self.handle)).map_err(|failure| failure.why)
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
        let saved = gather(&self.context, |writer| self.object.done(self.object.save(writer)));
        saved.map_err(|failure| failure.why)
    }

    /// Adds the batches of a saved state.
    pub fn merge(&self, state: &SavedState) -> Result<(), String> {
        give_back(&self.context, state, |reader| {
            self.object.done(self.object.merge(reader)).map_err(|failure| failure.why)
        })
    }
}
