//! `NoPipeline`: the whole model in one process, micro-batch after micro-batch.

use hookrack_plugin_api::prelude::Deserialize;

use super::{MicroBatch, Schedule, ScheduleContext};
use crate::error::Result;
use crate::registry::Component;

/// The whole model in one process; each batch goes through it in `train.accumulation` micro-batches.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPipeline {
    #[serde(skip)]
    accumulation: usize,
}

impl Component<ScheduleContext, dyn Schedule> for NoPipeline {
    const KIND: &'static str = "schedule";
    const NAME: &'static str = "NoPipeline";

    fn build(self, context: &ScheduleContext) -> Result<Box<dyn Schedule>> {
        if context.accumulation == 0 {
            return Err(Self::refuse("accumulation = 0: give 1 or more"));
        }
        Ok(Box::new(Self { accumulation: context.accumulation }))
    }
}

impl Schedule for NoPipeline {
    /// Parts differ by at most one row; a batch with fewer rows than parts has fewer parts.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer rows than 2^53")]
    fn split(&self, start: i64, rows: i64, out: &mut Vec<MicroBatch>) {
        let parts = i64::try_from(self.accumulation).unwrap_or(i64::MAX).min(rows);
        let mut start = start;
        for part in 0..parts {
            let size = rows / parts + i64::from(part < rows % parts);
            out.push(MicroBatch { start, rows: size, weight: size as f64 / rows as f64 });
            start += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(accumulation: usize, rows: i64) -> Vec<MicroBatch> {
        let mut out = Vec::new();
        NoPipeline { accumulation }.split(0, rows, &mut out);
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
        NoPipeline { accumulation: 2 }.split(5, 3, &mut parts);
        let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows)).collect();
        assert_eq!(rows, [(0, 3), (3, 2), (5, 2), (7, 1)]);
    }

    #[test]
    fn a_short_batch_has_fewer_parts() {
        assert_eq!(split(4, 2).len(), 2);
        assert!(split(4, 0).is_empty());
    }
}
