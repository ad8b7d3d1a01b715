//! Scalars, metrics and shared values.

use super::Trainer;
use crate::abi::{HrMetricReading, HrScalarReading, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP};
use crate::better::Better;
use crate::error::Result;
use crate::phase::Phase;
use crate::value::Value;

/// Scalars, values of metrics, and values shared between hooks.
///
/// Each scalar keeps its last 1024 values, which are part of checkpoints. On several ranks every rank has
/// scalars of its own; only those of rank 0 are written to the console and to files.
impl Trainer {
    /// Logs a scalar for the current iteration.
    ///
    /// A name without `/` is prefixed with the phase: `loss` is `train/loss` in training. `@norm` is prefixed
    /// with the instance: `hook/<instance>/norm`. Writers have the last value since they last wrote, unless
    /// every value is [recorded](Self::record_events).
    ///
    /// The scalar is smoothed: the console shows the median of its last 20 values. A smoothed scalar is not
    /// in the console's line of an evaluation, in the results of `hookrack eval`, or compared by
    /// [`Keep`](super::Keep). Log the value of a whole pass by a [key](Self::scalar_key) that does not
    /// smooth.
    ///
    /// Looks up the name at each call, and allocates unless the name contains `/`: in every iteration use
    /// [`scalar_key`](Self::scalar_key) and [`put`](Self::put). A new name takes memory for its 1024 values,
    /// about 24 KB: do not build names from numbers such as the iteration.
    ///
    /// # Errors
    /// The name is empty.
    pub fn put_scalar(&mut self, name: &str, value: f64) -> Result<()> {
        let key = self.host.scalar_key(name, true)?;
        self.host.put_scalar(key, value)
    }

    /// Returns the key of a scalar, to log it in every iteration. With `smooth` the console shows the median
    /// of its last values; files always have the raw values.
    ///
    /// The key is valid for the whole run, and the same for every hook that asks for this name. The first
    /// call for a name decides whether it is smoothed. A name without `/` is prefixed with the phase at the
    /// time of this call, and with the [scopes](Self::scoped) that are open: a key made in `before_train`
    /// logs to `train/…` in a validation too. A scalar without a value is not written anywhere.
    ///
    /// # Errors
    /// The name is empty.
    pub fn scalar_key(&self, name: &str, smooth: bool) -> Result<ScalarKey> {
        Ok(ScalarKey(self.host.scalar_key(name, smooth)?))
    }

    /// Logs a scalar by its key. Does not look up a name, and allocates only for the first value of a scalar.
    ///
    /// Several values in one iteration are all kept. NaN and infinities are logged like numbers.
    pub fn put(&mut self, key: ScalarKey, value: f64) -> Result<()> {
        self.host.put_scalar(key.0, value)
    }

    /// Returns the last value of a scalar, which may be NaN; `None` if it has none.
    pub fn latest(&self, key: ScalarKey) -> Result<Option<f64>> {
        self.host.latest(key.0)
    }

    /// Returns the median of the last `window` values of a scalar, without NaN; `None` if there is none.
    ///
    /// Copies and sorts these values, at most 1024, at each call.
    pub fn median(&self, key: ScalarKey, window: usize) -> Result<Option<f64>> {
        self.host.median(key.0, window)
    }

    /// Makes all writers write the scalars logged since the last time, and the images, histograms and texts.
    /// File writers buffer: this does not wait for the disk.
    ///
    /// A scalar that was logged several times since then is written once, with its last value. The built-in
    /// hook `PeriodicLogger` calls it every 20 iterations and after each evaluation; what no hook writes is
    /// never shown. In a resumed run nothing is written before `before_train` is over: what was logged waits.
    pub fn write_events(&mut self) -> Result<()> {
        self.host.write_events()
    }

    /// Returns the value of a metric over the last complete pass of a phase; `None` if there is none yet.
    ///
    /// `name` is that of the instance, with `.suffix` for one of several values: `F1.macro`. The value may be
    /// NaN, such as that of a pass without a batch. Compares the name with those of all metrics; does not
    /// allocate.
    pub fn metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_EPOCH)
    }

    /// Returns the value of a metric for the last batch of a phase; `None` if it has none. Names are those of
    /// [`metric`](Self::metric).
    pub fn step_metric(&self, phase: Phase, name: &str) -> Result<Option<f64>> {
        self.host.metric(phase.code(), name, METRIC_LATEST_STEP)
    }

    /// Returns all values of metrics so far. Allocates. Hosts of every version have it;
    /// [`metric_objects`](Self::metric_objects) lists the metrics themselves, also those without a value.
    ///
    /// Its cost grows with the square of their number: call it at the end of a pass, not in every iteration.
    pub fn metrics(&self) -> Result<Vec<MetricReading>> {
        let mut readings = Vec::new();
        while let Some((reading, name)) = self.host.metric_at(readings.len())? {
            readings.push(MetricReading::new(&reading, name));
        }
        Ok(readings)
    }

    /// Returns all scalars that have a value. Allocates.
    ///
    /// Its cost grows with the square of their number: call it at the end of a pass, not in every iteration.
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

    /// Returns a copy of the value shared under `key`; `None` if there is none.
    ///
    /// The value is copied twice, once on each side of the ABI: keep shared values small, and share large
    /// data as [tensors](Self::put_state_tensor). Keys are those of the run: every hook sees the same ones.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.host.state(key)
    }

    /// Shares a value under `key`, replacing a previous one. It is saved in checkpoints.
    ///
    /// It stays until it is removed or the run ends. On a resume, a value that a hook has put by `before_run`
    /// takes precedence over the saved one. On several ranks each rank has its own values; those of rank 0
    /// are saved, and restored on all.
    ///
    /// # Errors
    /// Lists and tables are nested more than 100 levels deep.
    pub fn put_state(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        self.host.put_state(key, &value.into())
    }

    /// Removes a shared value and returns whether there was one.
    pub fn remove_state(&mut self, key: &str) -> Result<bool> {
        self.host.remove_state(key)
    }
}

/// The key of a scalar, valid for the whole run. A number: copy it freely, but do not save it in a
/// checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct ScalarKey(u32);

impl ScalarKey {
    pub(super) fn code(self) -> u32 {
        self.0
    }
}

/// The last value of a scalar, as [`Trainer::scalars`] found it.
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
    /// Its last value; may be NaN.
    pub latest: f64,
}

/// One value of a metric as it was last logged: an entry for each value (`F1.macro`), as soon as there is one.
///
/// [`MetricObject`](crate::MetricObject) is the metric itself: an entry for each metric and phase from the
/// start of the run, with its unit, which can also be computed in the middle of a pass.
#[derive(Clone, Debug)]
pub struct MetricReading {
    /// Its name, with `.suffix` for one of several values.
    pub name: String,
    /// The phase that it is computed in.
    pub phase: Phase,
    /// Whether a higher value is better; `None` if neither is.
    pub higher_is_better: Option<bool>,
    /// The value of the last batch; `None` if there is none or it is NaN.
    pub step: Option<f64>,
    /// The value over the last complete pass; `None` if there is none or it is NaN.
    pub epoch: Option<f64>,
}

impl MetricReading {
    fn new(reading: &HrMetricReading, name: String) -> Self {
        let known = |value: f64| (!value.is_nan()).then_some(value);
        let higher_is_better = Better::higher(reading.better);
        let (step, epoch) = (known(reading.step), known(reading.epoch));
        Self { name, phase: Phase::from_code(reading.phase), higher_is_better, step, epoch }
    }

    /// Returns whether `new` is better than `old`. NaN is never better; anything is better than NaN. Always
    /// false for a metric of which neither direction is better.
    pub fn is_better(&self, new: f64, old: f64) -> bool {
        self.higher_is_better.is_some_and(|higher| Better::of(higher).is_better(new, old))
    }
}
