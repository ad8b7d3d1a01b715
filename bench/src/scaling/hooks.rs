//! The time of a point with many hooks.

use super::curve::Curve;
use crate::error::BenchError;
use crate::measured_hooks::{Kinds, POINT, context, rack};
use crate::rounds::{Case, best_of};
use std::hint::black_box;

const HOOKS: [u32; 8] = [0, 1, 3, 10, 30, 100, 300, 1000];

/// Nanoseconds of a point with 0 to 1000 hooks.
pub(super) fn measure(rounds: u32) -> Result<Vec<Curve>, BenchError> {
    let (kinds, context) = (Kinds::load()?, context()?);
    let mut series = Vec::new();
    for (name, kind) in [("built in", &kinds.built_in), ("Rust plugin", &kinds.rust)] {
        let mut cases = Vec::new();
        for hooks in HOOKS {
            let mut rack = rack(kind, hooks, &context)?;
            cases.push(Case::new(name, hooks.max(1), move |passes| {
                let fire = |_: &u32| black_box(&mut rack).fire(black_box(POINT)).is_err();
                u32::try_from((0..passes).filter(fire).count()).unwrap_or(u32::MAX)
            }));
        }
        let each = best_of(rounds, &mut cases)?;
        let points = HOOKS.iter().zip(each).map(|(hooks, each)| {
            let hooks_called = f64::from((*hooks).max(1));
            (f64::from(*hooks), each * hooks_called)
        });
        series.push((name.to_owned(), points.collect()));
    }
    Ok(vec![Curve {
        file: "hooks",
        title: "Time of a point with many hooks",
        what: "hooks",
        unit: "ns",
        series,
        note: "Quick hooks such as these share a reading of the clock.".to_owned(),
    }])
}
