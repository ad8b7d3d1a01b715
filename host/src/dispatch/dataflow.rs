//! Finds values that are read before they are written: at one point, in the order of the plan.
//!
//! Manifests declare what a hook reads and writes. A reader that runs first sees the previous value: a logger one
//! step behind, a checkpoint judged by the last epoch's metric.

use super::hook_spec::HookSpec;
use super::plan::Plan;
use hookrack_plugin_api::Point;
use std::fmt;

/// A value that is read before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleRead {
    /// The value.
    pub value: String,
    /// The points at which it happens.
    pub points: Vec<Point>,
    /// The reader and its level.
    pub reader: (String, i64),
    /// The writer and its level.
    pub writer: (String, i64),
}

impl fmt::Display for StaleRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, points, reader, writer } = self;
        let points: Vec<_> = points.iter().map(|point| point.name()).collect();
        write!(
            f,
            "`{}` (level {}) reads {value} before `{}` (level {}) writes it at {}: it sees the previous value; give \
             `{}` a level above {}, or `{}` one below {}",
            reader.0,
            reader.1,
            writer.0,
            writer.1,
            points.join(", "),
            reader.0,
            writer.1,
            writer.0,
            reader.1,
        )
    }
}

/// Every value that some hook reads before another writes it.
pub fn stale_reads(plan: &Plan, specs: &[&HookSpec]) -> Vec<StaleRead> {
    let mut found: Vec<StaleRead> = Vec::new();
    for row in plan.rows().filter(|row| !row.point.is_role()) {
        for (at, &reader) in row.specs.iter().enumerate() {
            for &writer in &row.specs[at + 1..] {
                note(&mut found, row.point, specs[reader], specs[writer]);
            }
        }
    }
    found
}

fn note(found: &mut Vec<StaleRead>, point: Point, reader: &HookSpec, writer: &HookSpec) {
    for value in reader.reads.iter().filter(|value| writer.writes.contains(value)) {
        let names = |read: &StaleRead| {
            read.value == *value && read.reader.0 == reader.name && read.writer.0 == writer.name
        };
        match found.iter_mut().find(|read| names(read)) {
            Some(known) => known.points.push(point),
            None => found.push(StaleRead {
                value: value.clone(),
                points: vec![point],
                reader: (reader.name.clone(), reader.level.0),
                writer: (writer.name.clone(), writer.level.0),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::Level;

    fn spec(name: &str, level: i64, points: &[Point], reads: &[&str], writes: &[&str]) -> HookSpec {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        HookSpec {
            reads: words(reads),
            writes: words(writes),
            ..HookSpec::at(name, Level(level), points.to_vec())
        }
    }

    fn found(specs: &[HookSpec]) -> Vec<String> {
        let plan = Plan::new(specs).unwrap();
        let specs: Vec<_> = specs.iter().collect();
        stale_reads(&plan, &specs).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_reader_before_its_writer_is_named_with_both_levels() {
        let points = [Point::AfterTrainIter, Point::AfterTrainEpoch];
        let specs = [
            HookSpec::main(1),
            spec("logger", 10, &points, &["loss"], &[]),
            spec("loss", 20, &points, &[], &["loss", "events"]),
        ];
        let expected = "`logger` (level 10) reads loss before `loss` (level 20) writes it at after_train_iter, \
                        after_train_epoch: it sees the previous value; give `logger` a level above 20, or \
                        `loss` one below 10";
        assert_eq!(found(&specs), [expected]);
    }

    #[test]
    fn the_right_order_other_points_and_other_values_are_fine() {
        let specs = [
            HookSpec::main(1),
            spec("loss", 5, &[Point::AfterTrainIter], &[], &["loss"]),
            spec("logger", 10, &[Point::AfterTrainIter], &["loss", "lr"], &[]),
            spec("late", 20, &[Point::AfterTrainEpoch], &[], &["loss"]),
            spec("rate", 30, &[Point::AfterTrainIter], &[], &["rate"]),
        ];
        assert!(found(&specs).is_empty());
    }
}
