//! Schedules: how a batch is cut into micro-batches, and in which order they run.

mod no_pipeline;

pub use no_pipeline::NoPipeline;

use super::data::{Rank, Share};
use super::registry::{Built, ComponentKind, Entry};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Micro-batches of each batch.
    parts: usize,
}

impl Schedule {
    /// Micro-batches of each batch.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Adds a rank's micro-batches of a batch of `rows` rows to `out`, in order; its own rows begin at `start`. Their weights
    /// are their shares of all rows; a batch with fewer rows than parts has fewer parts. Returns where its rows end.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    pub fn split(&self, start: i64, rows: i64, rank: Rank, out: &mut Vec<MicroBatch>) -> i64 {
        let share = Share { rank: rank.rank, world: rank.world, parts: self.parts };
        let count = usize::try_from(rows).unwrap_or(0);
        let mut start = start;
        for range in share.ranges(count).filter(|_| count > 0) {
            let size = i64::try_from(range.len()).unwrap_or(i64::MAX);
            out.push(MicroBatch { start, rows: size, weight: size as f64 / rows as f64 });
            start += size;
        }
        start
    }
}

impl Built for Schedule {
    const KIND: ComponentKind = ComponentKind::Schedule;
}

/// Every schedule that a config can name.
pub static SCHEDULES: &[Entry<ScheduleContext, Schedule>] = &[Entry::of::<NoPipeline>()];

#[cfg(test)]
mod tests {
    use super::*;

    fn split(accumulation: usize, rows: i64) -> Vec<MicroBatch> {
        let mut out = Vec::new();
        Schedule { parts: accumulation }.split(0, rows, Rank::ONLY, &mut out);
        out
    }

    #[test]
    fn one_part_is_the_whole_batch() {
        assert_eq!(split(1, 7), [MicroBatch { start: 0, rows: 7, weight: 1.0 }]);
    }

    #[test]
    fn uneven_parts_cover_every_row_once_and_weigh_one_together() {
        let parts = split(3, 8);
        let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows)).collect();
        assert_eq!(rows, [(0, 3), (3, 3), (6, 2)]);
        assert!((parts.iter().map(|part| part.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_second_batch_follows_the_first() {
        let mut parts = split(2, 5);
        Schedule { parts: 2 }.split(5, 3, Rank::ONLY, &mut parts);
        let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows)).collect();
        assert_eq!(rows, [(0, 3), (3, 2), (5, 2), (7, 1)]);
    }

    #[test]
    fn a_rank_has_its_rows_of_every_part() {
        let mut parts = Vec::new();
        let end = Schedule { parts: 2 }.split(0, 8, Rank { rank: 1, world: 2 }, &mut parts);
        let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows, part.weight)).collect();
        assert_eq!((rows, end), (vec![(0, 2, 0.25), (2, 2, 0.25)], 4));
    }

    #[test]
    fn a_short_batch_has_fewer_parts() {
        assert_eq!(split(4, 2).len(), 2);
        assert!(split(4, 0).is_empty());
    }
}
