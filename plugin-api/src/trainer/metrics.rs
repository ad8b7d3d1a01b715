//! The metrics of the run as objects, by phase and name.

use super::Trainer;
use crate::abi::{Host, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP};
use crate::better::Better;
use crate::error::Result;
use crate::phase::Phase;

/// A metric of the run in one phase. It exists from the start of the run, also before it has a value.
/// [`MetricReading`](crate::MetricReading) is only its last values.
///
/// Valid for the whole run: keep it in a field. It only reads: a hook cannot reset or update a metric.
pub struct MetricObject {
    host: Host,
    place: usize,
    /// Its instance name.
    pub name: String,
    /// Its `type` in the config.
    pub type_name: String,
    /// The unit of its value; empty for a plain number.
    pub unit: String,
    /// The phase it is computed in.
    pub phase: Phase,
    /// Whether a higher value is better; `None` if neither is.
    pub higher_is_better: Option<bool>,
}

impl MetricObject {
    /// Computes its main value over the batches of the current pass so far; between passes, over the last
    /// one.
    ///
    /// NaN if there was no batch, `None` if the metric has no main value. The computation may cost as much as
    /// at the end of a pass. On several ranks it is the value over all of them in training; in an evaluation,
    /// where the batches of the ranks are merged at the end of the pass, that of this rank's last batch until
    /// then.
    ///
    /// # Errors
    /// The metric is being called, or its computation fails.
    pub fn so_far(&self) -> Result<Option<f64>> {
        let values = self.values_so_far()?;
        Ok(values.into_iter().find(|(suffix, _)| suffix.is_empty()).map(|(_, value)| value))
    }

    /// As [`so_far`](Self::so_far), for all of its values: pairs of suffix and number. Allocates the pairs.
    pub fn values_so_far(&self) -> Result<Vec<(String, f64)>> {
        self.host.metric_so_far(self.place)
    }

    /// Returns its main value over the last complete pass; `None` before there was one, and for a metric that
    /// has only values with a suffix. Nothing is computed.
    pub fn last(&self) -> Result<Option<f64>> {
        self.host.metric(self.phase.code(), &self.name, METRIC_LATEST_EPOCH)
    }

    /// Returns its main value for the last batch; `None` if it has none. Nothing is computed.
    pub fn step(&self) -> Result<Option<f64>> {
        self.host.metric(self.phase.code(), &self.name, METRIC_LATEST_STEP)
    }

    /// Returns whether `new` is better than `old`. NaN is never better; anything is better than NaN. Always
    /// false for a metric of which neither direction is better.
    pub fn is_better(&self, new: f64, old: f64) -> bool {
        self.higher_is_better.is_some_and(|higher| Better::of(higher).is_better(new, old))
    }

    /// Returns whether `name` is this metric or one of its values: `F1`, `F1.macro`.
    pub fn is_of(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Metrics as objects (extension `hookrack.metrics/1`). A host before ABI 1.1 returns an error.
impl Trainer {
    /// Returns all metrics of the run, once for each phase they are computed in, in the order of the config.
    /// Allocates: call it once, in `before_train`.
    pub fn metric_objects(&self) -> Result<Vec<MetricObject>> {
        let mut all = Vec::new();
        while let Some(info) = self.host.metric_info(all.len())? {
            all.push(MetricObject {
                host: self.host,
                place: all.len(),
                name: info.name,
                type_name: info.type_name,
                unit: info.unit,
                phase: Phase::from_code(info.phase),
                higher_is_better: Better::higher(info.better),
            });
        }
        Ok(all)
    }

    /// Returns the metric of a phase by its name, or by that of one of its values (`F1.macro`); `None` if
    /// there is none. Each call lists all metrics: call it once, in `before_train`.
    pub fn metric_object(&self, phase: Phase, name: &str) -> Result<Option<MetricObject>> {
        let all = self.metric_objects()?;
        Ok(all.into_iter().find(|metric| metric.phase == phase && metric.is_of(name)))
    }
}
