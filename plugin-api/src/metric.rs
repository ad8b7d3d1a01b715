//! The trait that a metric implements: a value accumulated over batches.

use crate::abi::HrScalarSink;
use crate::error::Result;
use crate::state::{StateReader, StateWriter};
use crate::trainer::Trainer;

/// A value accumulated over the batches of a pass: an accuracy, a loss, an error rate.
///
/// The host calls `reset` before a pass, `update` after each batch, and `compute` or `values` at any time:
/// they must not change the metric. All calls are made on the training thread. The host makes an object from
/// the same settings for each phase that the metric is computed in, so that a validation in the middle of an
/// epoch does not disturb the sums of training, and a second one for training.
///
/// On several ranks every object sees the batches of its own rank; the states are combined with `merge`, so
/// that all ranks have the values of one process. In training that is done after every iteration, in an
/// evaluation at the end of the pass, batch by batch in the order of the data. An object is then reset before
/// each batch: `update` must not rely on what it saw before. State is sent over the network each time: sums
/// and counts, not lists of samples, where that is possible.
///
/// | method | in one process | on several ranks, in addition |
/// |---|---|---|
/// | `reset` | before a pass | before each batch |
/// | `update` | after each batch | |
/// | `step_values` | after each batch | not in training |
/// | `values` | after a pass, and when a hook asks | after each training iteration, for that iteration |
/// | `report` | after a pass | |
/// | `save_state` | at each checkpoint | after each batch |
/// | `merge` | in a resume, by `load_state` | training: after each iteration, the state of each rank; evaluation: after the pass, that of each batch |
///
/// A metric only reads: changing anything of the run is an error. An error in any method follows `on_error`
/// of the entry.
pub trait Metric {
    /// Adds the current batch: `t.output()`, `t.label()`, `t.loss()`.
    ///
    /// Called after every batch, with gradient recording off. Avoid reading values (`item`, `to_vec`) on a
    /// GPU: it waits for the device. Keep sums as tensors and read them in `compute`. With micro-batches it
    /// is called once, with the whole batch.
    ///
    /// # Errors
    /// By default an error ends the run (`on_error = "abort"`).
    fn update(&mut self, t: &mut Trainer) -> Result<()>;

    /// Returns the value over all batches since the last reset; NaN if there was none.
    ///
    /// Called at the end of a pass and whenever a hook asks for the value so far; on several ranks also after
    /// each training iteration, for the values of that iteration.
    fn compute(&self) -> f64;

    /// Removes all batches. Called before each pass; on several ranks also before each batch.
    fn reset(&mut self);

    /// Returns the value of the last batch, for the progress line; `None` if it is not meaningful.
    ///
    /// Called after each batch. In training on several ranks [`values`](Self::values) of the iteration take
    /// its place.
    fn step_value(&self) -> Option<f64> {
        None
    }

    /// Adds the batches of another process, from its saved state. With sums and counts this is an addition.
    ///
    /// Its own saved state is among those that are merged. The default of [`load_state`](Self::load_state)
    /// calls it too. Tensors are on the CPU.
    ///
    /// # Errors
    /// A value is missing from the state, or does not match.
    fn merge(&mut self, other: &StateReader<'_>) -> Result<()>;

    /// Saves the accumulated values, for checkpoints and for [`merge`](Self::merge). Not needed if all of
    /// them are fields with `#[param(state)]`; `#[metric]` requires one of the two.
    ///
    /// Called at every checkpoint, and on several ranks after each batch.
    ///
    /// # Errors
    /// As for [`Hook::save_state`](crate::Hook::save_state); on several ranks the update has failed.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }

    /// Replaces the accumulated values by saved ones. The default is `reset` and `merge`. Called in a resume.
    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.reset();
        self.merge(state)
    }

    /// All values of the pass, for a metric with several. The default is [`Self::compute`].
    ///
    /// Called when `compute` would be. They are logged as `val/F1.macro` and so on, without smoothing.
    fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
        out.put("", self.compute())
    }

    /// Logs images or writes files after a pass. The default does nothing.
    ///
    /// Called at the end of each pass, after `values`, on every rank; not when a hook asks for the value so
    /// far. `t` has no batch then. Files can be written on rank 0 only.
    fn report(&self, t: &mut Trainer) -> Result<()> {
        let _ = t;
        Ok(())
    }

    /// All values of the last batch. The default is [`Self::step_value`]. They are logged in training, as
    /// `train/Accuracy_step`.
    fn step_values(&self, out: &mut Scalars<'_>) -> Result<()> {
        match self.step_value() {
            Some(value) => out.put("", value),
            None => Ok(()),
        }
    }
}

/// Receives the values of a metric. Valid during the call.
pub struct Scalars<'a> {
    sink: &'a HrScalarSink,
}

impl<'a> Scalars<'a> {
    pub(crate) fn new(sink: &'a HrScalarSink) -> Self {
        Self { sink }
    }

    /// Adds a value. Its name is that of the metric, followed by `.suffix` unless `suffix` is empty.
    ///
    /// Use the same suffixes each time: each is a separate scalar. If a suffix is put twice, the last value
    /// counts.
    pub fn put(&mut self, suffix: &str, value: f64) -> Result<()> {
        self.sink.scalar(suffix, value)
    }
}

/// What `#[metric]` generates for a metric; it becomes part of the manifest.
pub trait MetricInfo {
    /// `higher`, `lower`, or empty if neither is better.
    const BETTER: &'static str;
    /// The unit of the value: `%`, `s`, or empty.
    const UNIT: &'static str;
    /// Other names that a config may use.
    const ALIASES: &'static str = "";
    /// Saves the fields with `#[param(state)]`, for [`Metric::merge`] to read.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_fields(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }
    /// What it measures, in one line.
    fn doc() -> &'static str;
    /// The operators of libtorch that it calls; a missing one is reported before the run.
    fn ops() -> Vec<&'static str> {
        Vec::new()
    }
    /// Its parameters; `None` if they are not described.
    fn params() -> Option<Vec<crate::describe::Param>>;
}
