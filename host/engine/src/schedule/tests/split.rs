//! How batches are split.

use crate::data::Rank;
use crate::registry::{Build as _, Choice};
use crate::schedule::{MicroBatch, SCHEDULES, Schedule, ScheduleContext};

fn alone(parts: usize) -> Schedule {
    let choice = Choice::new("NoPipeline", &[]);
    *choice.build(SCHEDULES, &ScheduleContext { accumulation: parts }).unwrap()
}

fn split(accumulation: usize, rows: i64) -> Vec<MicroBatch> {
    let mut out = Vec::new();
    alone(accumulation).split(0, rows, Rank::ONLY, &mut out);
    out
}

#[test]
fn one_part_is_the_whole_batch() {
    assert_eq!(split(1, 7), [MicroBatch { start: 0, rows: 7, weight: 7.0 }]);
}

#[test]
fn uneven_parts_cover_every_row_once_and_weigh_as_many_as_they_have() {
    let parts = split(3, 8);
    let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows, part.weight)).collect();
    assert_eq!(rows, [(0, 3, 3.0), (3, 3, 3.0), (6, 2, 2.0)]);
}

#[test]
fn a_second_batch_follows_the_first() {
    let mut parts = split(2, 5);
    alone(2).split(5, 3, Rank::ONLY, &mut parts);
    let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows)).collect();
    assert_eq!(rows, [(0, 3), (3, 2), (5, 2), (7, 1)]);
}

#[test]
fn a_rank_has_its_rows_of_every_part() {
    let mut parts = Vec::new();
    let end = alone(2).split(0, 8, Rank { rank: 1, world: 2 }, &mut parts);
    let rows: Vec<_> = parts.iter().map(|part| (part.start, part.rows, part.weight)).collect();
    assert_eq!((rows, end), (vec![(0, 2, 2.0), (2, 2, 2.0)], 4));
}

#[test]
fn a_short_batch_has_fewer_parts() {
    assert_eq!(split(4, 2).len(), 2);
    assert!(split(4, 0).is_empty());
}
