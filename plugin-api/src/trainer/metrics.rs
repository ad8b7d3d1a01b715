//! The metrics of the run as objects, by phase and name.

use super::Trainer;
use crate::abi::{Host, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP};
use crate::better::Better;
use crate::error::Result;
use crate::phase::Phase;

/// A metric of the run in one phase. It is there from the beginning, before it has a value.
pub struct MetricObject {
    host: Host,
    place: usize,
    /// Its instance name.
    pub name: String,
    /// The `type` by which the config names it.
    pub type_name: String,
    /// The unit of its value; empty for a plain number.
    pub unit: String,
    /// The phase that it is computed in.
    pub phase: Phase,
    /// Whether a higher value is better; `None` where neither is.
    pub higher_is_better: Option<bool>,
}

impl MetricObject {
    /// What it comes to so far: its main value over the batches of the pass in progress, or of the last one until the
    /// next begins. NaN where there was no batch, `None` where it has no main value. It is computed now: that may be
    /// as costly as at the end of the pass.
    pub fn so_far(&self) -> Result<Option<f64>> {
        let values = self.values_so_far()?;
        Ok(values.into_iter().find(|(suffix, _)| suffix.is_empty()).map(|(_, value)| value))
    }

    /// As [`so_far`](Self::so_far), all of its values: suffix and number.
    pub fn values_so_far(&self) -> Result<Vec<(String, f64)>> {
        self.host.metric_so_far(self.place)
    }

    /// Its main value over the last whole pass; `None` before there was one.
    pub fn last(&self) -> Result<Option<f64>> {
        self.host.metric(self.phase.code(), &self.name, METRIC_LATEST_EPOCH)
    }

    /// Its main value of the last batch; `None` if it has none.
    pub fn step(&self) -> Result<Option<f64>> {
        self.host.metric(self.phase.code(), &self.name, METRIC_LATEST_STEP)
    }

    /// Whether `new` is better than `old`. NaN is never better; anything is better than NaN.
    pub fn is_better(&self, new: f64, old: f64) -> bool {
        self.higher_is_better.is_some_and(|higher| Better::of(higher).is_better(new, old))
    }

    /// Whether a value is one of this metric's: `F1`, or `F1.macro`.
    pub fn is_of(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Metrics as objects: the extension `hookrack.metrics/1`, which an older host answers with an error.
impl Trainer {
    /// Every metric of the run, once for each phase that it is computed in, in the order of the config.
    pub fn metric_objects(&self) -> Result<Vec<MetricObject>> {
        let mut all = Vec::new();
        while let Some(info) = self.host.metric_info(all.len())? {
            let better = (info.better != 0).then_some(info.better > 0);
            all.push(MetricObject {
                host: self.host,
                place: all.len(),
                name: info.name,
                type_name: info.type_name,
                unit: info.unit,
                phase: Phase::from_code(info.phase),
                higher_is_better: better,
            });
        }
        Ok(all)
    }

    /// The metric of a phase by its name, or by that of one of its values: `F1.macro`. `None` if there is none.
    pub fn metric_object(&self, phase: Phase, name: &str) -> Result<Option<MetricObject>> {
        let all = self.metric_objects()?;
        Ok(all.into_iter().find(|metric| metric.phase == phase && metric.is_of(name)))
    }
}
