//! The trait that a metric implements: a value that grows batch by batch.

use crate::abi::HrScalarSink;
use crate::error::Result;
use crate::state::{StateReader, StateWriter};
use crate::trainer::Trainer;

/// A value over the batches of a pass: accuracy, a loss, an error rate.
///
/// The host calls `reset` when a pass begins, `update` after each batch, and reads the values as often as it likes:
/// reading must not change them.
pub trait Metric {
    /// Takes the current batch in: `t.output()`, `t.label()`, `t.loss()`.
    fn update(&mut self, t: &mut Trainer) -> Result<()>;

    /// The value over all batches since the last reset. NaN where there was none.
    fn compute(&self) -> f64;

    /// Forgets all batches.
    fn reset(&mut self);

    /// The value of the last batch alone, for the progress line; `None` where it means nothing.
    fn step_value(&self) -> Option<f64> {
        None
    }

    /// Adds what another process gathered, from its saved state.
    fn merge(&mut self, other: &StateReader<'_>) -> Result<()>;

    /// Puts what was gathered into a checkpoint, or on its way to another process. Not needed where fields with
    /// `#[param(state)]` are all there is; `#[metric]` insists on one of the two.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }

    /// Replaces what was gathered. The default forgets all and merges.
    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.reset();
        self.merge(state)
    }

    /// All values of the pass, for a metric that has several. The default gives [`Self::compute`].
    fn values(&self, out: &mut Scalars<'_>) -> Result<()> {
        out.put("", self.compute())
    }

    /// Shows what does not fit into numbers, after the values of a pass: a picture, a table. The default shows nothing.
    fn report(&self, t: &mut Trainer) -> Result<()> {
        let _ = t;
        Ok(())
    }

    /// All values of the last batch. The default gives [`Self::step_value`].
    fn step_values(&self, out: &mut Scalars<'_>) -> Result<()> {
        match self.step_value() {
            Some(value) => out.put("", value),
            None => Ok(()),
        }
    }
}

/// Takes the values of a metric.
pub struct Scalars<'a> {
    sink: &'a HrScalarSink,
}

impl<'a> Scalars<'a> {
    pub(crate) fn new(sink: &'a HrScalarSink) -> Self {
        Self { sink }
    }

    /// Gives one value; its name is the metric's, with `.suffix` where there is one.
    pub fn put(&mut self, suffix: &str, value: f64) -> Result<()> {
        self.sink.scalar(suffix, value)
    }
}

/// What `#[metric]` finds out about a metric; it goes into the manifest.
pub trait MetricInfo {
    /// `higher`, `lower` or nothing: which of two values is better.
    const BETTER: &'static str;
    /// The unit of the value: `%`, `s`, nothing.
    const UNIT: &'static str;
    /// Other names by which a config may name it.
    const ALIASES: &'static str = "";
    /// Saves the fields with `#[param(state)]`, for [`Metric::merge`] to read.
    #[expect(unused_variables, reason = "the default saves nothing")]
    fn save_fields(&self, state: &mut StateWriter<'_>) -> Result<()> {
        Ok(())
    }
    /// What it measures, in a line.
    fn doc() -> &'static str;
    /// The names of the operators of libtorch that it calls: what is not there is found before a run.
    fn ops() -> Vec<&'static str> {
        Vec::new()
    }
    /// Its parameters, where they are known from outside.
    fn params() -> Option<Vec<crate::describe::Param>>;
}
