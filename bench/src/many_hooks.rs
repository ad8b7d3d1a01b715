//! What a hundred hooks of a plugin add to an iteration.

use crate::error::BenchError;
use crate::measured_hooks::{Kinds, POINT, context, rack};
use crate::report::{About, Line, Section, Target};
use crate::rounds::{Case, best_of, median};
use std::hint::black_box;

/// Hooks at the point.
const HOOKS: u32 = 100;

/// The microseconds that they may add.
pub(crate) const MOST: f64 = 1.5;

/// Interleaved repetitions, of which the best one counts in a round.
const BEST_OF: u32 = 9;

/// Measures in rounds, each the best of some.
pub(crate) fn measure(rounds: usize) -> Result<Section, BenchError> {
    let added = Line::new("all of them", median(&added(rounds)?));
    Ok(Section {
        title: format!(
            "{HOOKS} hooks of a Rust plugin at after_train_iter, added to an iteration (medians of {rounds} rounds)"
        ),
        unit: "µs",
        baseline: "",
        lines: vec![added.must(About::Value, Target::AtMost(MOST))],
    })
}

/// The microseconds of a point with the hooks, less those of one without any, in each round.
pub(crate) fn added(rounds: usize) -> Result<Vec<f64>, BenchError> {
    let (kinds, context) = (Kinds::load()?, context()?);
    let mut cases = Vec::new();
    for hooks in [0, HOOKS] {
        let mut rack = rack(&kinds.rust, hooks, &context)?;
        cases.push(Case::new("Rust plugin", hooks.max(1), move |passes| {
            let fire = |_: &u32| black_box(&mut rack).fire(black_box(POINT)).is_err();
            u32::try_from((0..passes).filter(fire).count()).unwrap_or(u32::MAX)
        }));
    }
    let mut found = Vec::new();
    for _ in 0..rounds {
        // Nanoseconds of a point, and of a hook.
        let best = best_of(BEST_OF, &mut cases)?;
        found.push((best[1] * f64::from(HOOKS) - best[0]) / 1e3);
    }
    Ok(found)
}
