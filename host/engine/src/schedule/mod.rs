//! Schedules: how a batch is cut into micro-batches, and in which order they run.

mod no_pipeline;

pub use no_pipeline::NoPipeline;

use super::registry::Entry;

/// A run of rows of a batch that goes through the model at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MicroBatch {
    /// The first row.
    pub start: i64,
    /// How many rows.
    pub rows: i64,
    /// Its share of the iteration. The loss is multiplied by it before backward, so that the gradients add up to
    /// those of the whole.
    pub weight: f64,
}

/// What a schedule is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleContext {
    /// Micro-batches of each batch.
    pub accumulation: usize,
}

/// How an iteration runs through a batch.
pub trait Schedule: Send {
    /// Adds the micro-batches of `rows` rows from row `start` on to `out`, in order. Their weights are their shares of
    /// these rows.
    fn split(&self, start: i64, rows: i64, out: &mut Vec<MicroBatch>);
}

/// Every schedule that a config can name.
pub static SCHEDULES: &[Entry<ScheduleContext, dyn Schedule>] = &[Entry::of::<NoPipeline>()];
