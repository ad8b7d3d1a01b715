//! Scalars, metrics and shared values.

use super::Trainer;
use crate::abi::{HrMetricReading, HrScalarReading, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP};
use crate::better::Better;
use crate::error::Result;
use crate::phase::Phase;
use crate::value::Value;

/// Scalars, metrics and shared values.
impl Trainer {
    /// Puts a scalar for the current iteration. `name` is scoped by the phase: `loss` is `train/loss` in training;
    /// `@norm` is this hook's own, `hook/<instance>/norm`.
    pub fn put_scalar(&mut self, name: &str, value: f64) -> Result<()> {
        let key = self.host.scalar_key(name, true)?;
        self.host.put_scalar(key, value)
    }

    /// A scalar's key, for one that is put at every iteration. `smooth` says whether people are
    /// shown a median; files have the values.
    pub fn scalar_key(&self, name: &str, smooth: bool) -> Result<ScalarKey> {
        Ok(ScalarKey(self.host.scalar_key(name, smooth)?))
    }

    /// Puts a scalar by its key. Allocates nothing, looks nothing up.
    pub fn put(&mut self, key: ScalarKey, value: f64) -> Result<()> {
        self.host.put_scalar(key.0, value)
    }

    /// The last value of a scalar.
    pub fn latest(&self, key: ScalarKey) -> Result<Option<f64>> {
        self.host.latest(key.0)
    }

    /// The median of the last values of a scalar.
    pub fn median(&self, key: ScalarKey, window: usize) -> Result<Option<f64>> {
        self.host.median(key.0, window)
    }

    /// Makes the writers write what was logged since the last time.
    pub fn write_events(&mut self) -> Result<()> {
        self.host.write_events()
    }

    /// A metric's value over the last finished pass of a phase; `None` before there was one.
    pub fn metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_EPOCH)
    }

    /// A metric's value of the last batch of a phase; `None` if it has none.
    pub fn step_metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_STEP)
    }

    /// Every metric that has a value, by phase and name.
    pub fn metrics(&self) -> Result<Vec<MetricReading>> {
        let mut readings = Vec::new();
        while let Some((reading, name)) = self.host.metric_at(readings.len())? {
            readings.push(MetricReading::new(&reading, name));
        }
        Ok(readings)
    }

    /// Every scalar that has a value.
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

    /// A value that some hook shares under `key`.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.host.state(key)
    }

    /// Shares a value under `key`, in place of what was there.
    pub fn put_state(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        self.host.put_state(key, &value.into())
    }

    /// Withdraws a shared value; false where there was none.
    pub fn remove_state(&mut self, key: &str) -> Result<bool> {
        self.host.remove_state(key)
    }
}

/// A scalar's name, looked up once.
#[derive(Clone, Copy, Debug)]
pub struct ScalarKey(u32);

impl ScalarKey {
    pub(super) fn code(self) -> u32 {
        self.0
    }
}

/// A scalar as it stands.
#[derive(Clone, Debug)]
pub struct ScalarReading {
    /// Its full name.
    pub name: String,
    /// Its key.
    pub key: ScalarKey,
    /// Whether people are shown a median of it.
    pub smooth: bool,
    /// The training iteration of its last value.
    pub iter: u64,
    /// Its last value.
    pub latest: f64,
}

/// The latest values of a metric, as API 1.0 has them; [`MetricObject`](crate::MetricObject) is the metric itself, which can
/// also be computed now.
#[derive(Clone, Debug)]
pub struct MetricReading {
    /// Its name, with `.suffix` for one of several values.
    pub name: String,
    /// The phase that it is computed in.
    pub phase: Phase,
    /// Whether a higher value is better; `None` where neither is.
    pub higher_is_better: Option<bool>,
    /// The value of the last batch.
    pub step: Option<f64>,
    /// The value of the last whole pass.
    pub epoch: Option<f64>,
}

impl MetricReading {
    fn new(reading: &HrMetricReading, name: String) -> Self {
        let known = |value: f64| (!value.is_nan()).then_some(value);
        let higher_is_better = match reading.better {
            0 => None,
            better => Some(better > 0),
        };
        let (step, epoch) = (known(reading.step), known(reading.epoch));
        Self { name, phase: Phase::from_code(reading.phase), higher_is_better, step, epoch }
    }

    /// Whether `new` is better than `old`. NaN is never better; anything is better than NaN.
    pub fn is_better(&self, new: f64, old: f64) -> bool {
        self.higher_is_better.is_some_and(|higher| Better::of(higher).is_better(new, old))
    }
}
