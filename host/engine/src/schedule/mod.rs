//! Schedules: how a batch is split into micro-batches, and in which order they run.
//!
//! A schedule is a [`Table`]: the actions of every stage of the model, forward and backward passes with the sends and receives between
//! them. It is made before anything runs, and [`check`] proves that it can be run. The loop walks the actions of its own stage.
//! One process with the whole model is the table with one stage.

mod action;
mod check;
mod gpipe;
mod interleaved;
mod layout;
mod no_pipeline;
mod one_f_one_b;
mod pipeline_size;
mod simulate;
mod split_rule;
mod table;

pub use action::{Action, Message, MicroPart, Payload};
pub use check::{Checked, ScheduleError, check};
pub use gpipe::GPipe;
pub use interleaved::Interleaved1F1B;
pub use layout::Layout;
pub use no_pipeline::NoPipeline;
pub use one_f_one_b::OneFOneB;
pub use pipeline_size::PipelineSize;
pub use simulate::{Durations, Span, Timeline, simulate};
pub use split_rule::SplitRule;
pub use table::{Order, Table, actions};

use super::data::{Rank, Share};
use super::registry::{Built, ComponentKind, Entry};

/// Consecutive rows of a batch that run through the model together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MicroBatch {
    /// The first row.
    pub start: i64,
    /// How many rows.
    pub rows: i64,
    /// What its labels weigh in the loss: their number, if each counts as one. The loss is multiplied by its share of the iteration's weight
    /// before backward, so that the gradients add up to those of the whole.
    pub weight: f64,
}

/// What a schedule is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleContext {
    /// Micro-batches of each batch.
    pub accumulation: usize,
}

impl ScheduleContext {
    /// A pipeline has its own number of micro-batches.
    fn refuse_accumulation(self, schedule: Schedule) -> Result<Box<Schedule>, String> {
        match self.accumulation {
            1 => Ok(Box::new(schedule)),
            parts => Err(format!(
                "train.accumulation = {parts}, but a pipeline splits each batch into microbatches: remove train.accumulation"
            )),
        }
    }
}

/// How an iteration runs through a batch.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Micro-batches of each batch.
    parts: usize,
    order: Order,
    stages: u32,
    chunks: u32,
    split: SplitRule,
}

impl Schedule {
    fn pipeline(order: Order, size: PipelineSize, chunks: u32, split: SplitRule) -> Self {
        let PipelineSize { stages, microbatches } = size;
        Self { parts: microbatches as usize, order, stages, chunks, split }
    }

    /// Its stages; 1 without a pipeline.
    pub fn stages(&self) -> u32 {
        self.stages
    }

    /// How layers are divided among them.
    pub fn split_rule(&self) -> &SplitRule {
        &self.split
    }

    /// The order of its passes.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Its sizes, for a number of micro-batches in an iteration.
    pub fn layout(&self, micros: u32, tied: bool) -> Layout {
        Layout { stages: self.stages, micros, chunks: self.chunks, tied }
    }

    /// Micro-batches of each batch.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Adds a rank's micro-batches of a batch of `rows` rows to `out`, in order; its own rows begin at `start`. Their weights
    /// are their rows; a batch with fewer rows than parts has fewer parts. Returns where its rows end.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn split(&self, start: i64, rows: i64, rank: Rank, out: &mut Vec<MicroBatch>) -> i64 {
        let share = Share { rank: rank.rank, world: rank.world, parts: self.parts };
        let count = usize::try_from(rows).unwrap_or(0);
        let mut start = start;
        for range in share.ranges(count).filter(|_| count > 0) {
            let size = i64::try_from(range.len()).unwrap_or(i64::MAX);
            out.push(MicroBatch { start, rows: size, weight: size as f64 });
            start += size;
        }
        start
    }
}

impl Built for Schedule {
    const KIND: ComponentKind = ComponentKind::Schedule;
}

/// Every schedule that a config can name.
pub static SCHEDULES: &[Entry<ScheduleContext, Schedule>] = &[
    Entry::of::<NoPipeline>(),
    Entry::of::<GPipe>(),
    Entry::of::<OneFOneB>(),
    Entry::of::<Interleaved1F1B>(),
];

#[cfg(test)]
mod tests;
