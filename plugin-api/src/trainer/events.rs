//! Scalars, metrics and shared values.

use super::Trainer;
use crate::abi::{HrMetricReading, HrScalarReading, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP};
use crate::better::Better;
use crate::error::Result;
use crate::phase::Phase;
use crate::value::Value;

/// Scalars, values of metrics, and values shared between hooks.
impl Trainer {
    /// Logs a scalar for the current iteration.
    ///
    /// A name without `/` is prefixed with the phase: `loss` is `train/loss` in training. `@norm` is prefixed with the instance: `hook/<instance>/norm`.
    /// Looks up the name at each call: in every iteration use [`scalar_key`](Self::scalar_key) and [`put`](Self::put).
    ///
    /// # Errors
    /// The name is empty.
    pub fn put_scalar(&mut self, name: &str, value: f64) -> Result<()> {
        let key = self.host.scalar_key(name, true)?;
        self.host.put_scalar(key, value)
    }

    /// The key of a scalar, to log it in every iteration. With `smooth` the console shows the median of its last values; files always have the raw values.
    ///
    /// The key is valid for the whole run. A name without `/` is prefixed with the phase at the time of this call.
    pub fn scalar_key(&self, name: &str, smooth: bool) -> Result<ScalarKey> {
        Ok(ScalarKey(self.host.scalar_key(name, smooth)?))
    }

    /// Logs a scalar by its key. Does not allocate and does not look up a name.
    pub fn put(&mut self, key: ScalarKey, value: f64) -> Result<()> {
        self.host.put_scalar(key.0, value)
    }

    /// The last value of a scalar; `None` if it has none.
    pub fn latest(&self, key: ScalarKey) -> Result<Option<f64>> {
        self.host.latest(key.0)
    }

    /// The median of the last `window` values of a scalar; `None` if it has none.
    pub fn median(&self, key: ScalarKey, window: usize) -> Result<Option<f64>> {
        self.host.median(key.0, window)
    }

    /// Makes all writers write the scalars logged since the last time. File writers buffer: this does not wait for the disk.
    pub fn write_events(&mut self) -> Result<()> {
        self.host.write_events()
    }

    /// The value of a metric over the last complete pass of a phase; `None` if there is none yet.
    pub fn metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_EPOCH)
    }

    /// The value of a metric for the last batch of a phase; `None` if it has none.
    pub fn step_metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_STEP)
    }

    /// All values of metrics so far. Allocates. Hosts of every version have it; [`metric_objects`](Self::metric_objects) lists the metrics
    /// themselves, also those without a value.
    pub fn metrics(&self) -> Result<Vec<MetricReading>> {
        let mut readings = Vec::new();
        while let Some((reading, name)) = self.host.metric_at(readings.len())? {
            readings.push(MetricReading::new(&reading, name));
        }
        Ok(readings)
    }

    /// All scalars that have a value. Allocates.
    pub fn scalars(&self) -> Result<Vec<ScalarReading>> {
        let mut readings = Vec::new();
        while let Some((reading, name)) = self.host.scalar_at(readings.len())? {
            let HrScalarReading { key, smooth, iter, latest, .. } = reading;
            readings.push(ScalarReading {
                name,
                key: ScalarKey(key),
                smooth: smooth != 0,
                iter,
                latest,
            });
        }
        Ok(readings)
    }

    /// A copy of the value shared under `key`; `None` if there is none.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.host.state(key)
    }

    /// Shares a value under `key`, replacing a previous one. It is saved in checkpoints.
    pub fn put_state(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        self.host.put_state(key, &value.into())
    }

    /// Removes a shared value and returns whether there was one.
    pub fn remove_state(&mut self, key: &str) -> Result<bool> {
        self.host.remove_state(key)
    }
}

/// The key of a scalar, valid for the whole run.
#[derive(Clone, Copy, Debug)]
pub struct ScalarKey(u32);

impl ScalarKey {
    pub(super) fn code(self) -> u32 {
        self.0
    }
}

/// The last value of a scalar.
#[derive(Clone, Debug)]
pub struct ScalarReading {
    /// Its full name.
    pub name: String,
    /// Its key.
    pub key: ScalarKey,
    /// Whether the console shows a median.
    pub smooth: bool,
    /// The training iteration of its last value.
    pub iter: u64,
    /// Its last value.
    pub latest: f64,
}

/// One value of a metric as it was last logged: an entry for each value (`F1.macro`), as soon as there is one.
///
/// [`MetricObject`](crate::MetricObject) is the metric itself: an entry for each metric and phase from the start of the run, with its unit, which can also
/// be computed in the middle of a pass.
#[derive(Clone, Debug)]
pub struct MetricReading {
    /// Its name, with `.suffix` for one of several values.
    pub name: String,
    /// The phase that it is computed in.
    pub phase: Phase,
    /// Whether a higher value is better; `None` if neither is.
    pub higher_is_better: Option<bool>,
    /// The value of the last batch.
    pub step: Option<f64>,
    /// The value over the last complete pass.
    pub epoch: Option<f64>,
}

impl MetricReading {
    fn new(reading: &HrMetricReading, name: String) -> Self {
        let known = |value: f64| (!value.is_nan()).then_some(value);
        let higher_is_better = Better::higher(reading.better);
        let (step, epoch) = (known(reading.step), known(reading.epoch));
        Self { name, phase: Phase::from_code(reading.phase), higher_is_better, step, epoch }
    }

    /// Whether `new` is better than `old`. NaN is never better; anything is better than NaN.
    pub fn is_better(&self, new: f64, old: f64) -> bool {
        self.higher_is_better.is_some_and(|higher| Better::of(higher).is_better(new, old))
    }
}
