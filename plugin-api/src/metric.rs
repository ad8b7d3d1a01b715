//! The trait that a metric implements: a value accumulated over batches.

use crate::abi::HrScalarSink;
use crate::error::Result;
use crate::state::{StateReader, StateWriter};
use crate::trainer::Trainer;

/// A value accumulated over the batches of a pass: an accuracy, a loss, an error rate.
///
/// The host calls `reset` before a pass, `update` after each batch, and `compute` or `values` at any time: they must not change the metric.
/// On several ranks each one updates its own object; the states are then combined with `merge`. All calls are made on the training thread.
pub trait Metric {
    /// Adds the current batch: `t.output()`, `t.label()`, `t.loss()`.
    ///
    /// Called after every batch, with gradient recording off. Avoid reading values (`item`, `to_vec`) on a GPU: it waits for the device.
    ///
    /// # Errors
    /// By default an error ends the run (`on_error = "abort"`).
    fn update(&mut self, t: &mut Trainer) -> Result<()>;

    /// The value over all batches since the last reset; NaN if there was none.
    fn compute(&self) -> f64;

    /// Removes all batches.
    fn reset(&mut self);

    /// The value of the last batch, for the progress line; `None` if it is not meaningful.
    fn step_value(&self) -> Option<f64> {
        None
    }

    /// Adds the batches of another process, from its saved state. With sums and counts this is an addition.
    ///
    /// # Errors
    /// A value is missing from the state, or does not match.
    fn merge(&mut self, other: &StateReader<'_>) -> Result<()>;

    /// Saves the accumulated values, for checkpoints and for [`merge`](Self::merge). Not needed if all of them are fields with
    /// `#[param(state)]`; `#[metric]` requires one of the two.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }

    /// Replaces the accumulated values by saved ones. The default is `reset` and `merge`.
    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.reset();
        self.merge(state)
    }

    /// All values of the pass, for a metric with several. The default is [`Self::compute`].
    fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
        out.put("", self.compute())
    }

    /// Logs images or writes files after a pass. The default does nothing.
    fn report(&self, t: &mut Trainer) -> Result<()> {
        let _ = t;
        Ok(())
    }

    /// All values of the last batch. The default is [`Self::step_value`].
    fn step_values(&self, out: &mut Scalars<'_>) -> Result<()> {
        match self.step_value() {
            Some(value) => out.put("", value),
            None => Ok(()),
        }
    }
}

/// Receives the values of a metric.
pub struct Scalars<'a> {
    sink: &'a HrScalarSink,
}

impl<'a> Scalars<'a> {
    pub(crate) fn new(sink: &'a HrScalarSink) -> Self {
        Self { sink }
    }

    /// Adds a value. Its name is that of the metric, followed by `.suffix` unless `suffix` is empty.
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
