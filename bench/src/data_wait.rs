//! How long a step waits for its data, without and with a loader thread.

use crate::error::BenchError;
use crate::measured_hooks::job;
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;
use hookrack::hooks::CallbackHook;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::Writers;
use hookrack_plugin_api::Point;
use std::cell::Cell;
use std::rc::Rc;

/// Iterations of a round: two epochs, so that the start of an epoch is included.
const ITERS: u32 = 1876;

/// The maximum share of a step spent waiting.
const MOST: f64 = 0.05;

const TRANSFORMS: &str = "data.train.transforms=[{type='RandomCrop',padding=2},{type='RandomFlip'},\
                          {type='Normalize',mean=[0.286],std=[0.353]}]";

/// Measures the wait of a step, with batches prepared on demand and with a thread that prefetches.
pub(crate) fn measure(rounds: usize) -> Result<Section, BenchError> {
    let cases: [(&str, &[&str]); 3] = [
        ("images as they are, no worker", &[]),
        ("crop, flip, normalize, no worker", &[TRANSFORMS]),
        ("crop, flip, normalize, 1 worker", &[TRANSFORMS, "data.train.workers=1"]),
    ];
    let mut found = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for ((_, overrides), found) in cases.iter().zip(&mut found) {
            found.push(wait(overrides)?);
        }
    }
    let lines = cases.iter().zip(&found).map(|((name, overrides), found)| {
        let (waits, shares): (Vec<_>, Vec<_>) = found.iter().copied().unzip();
        let line = Line::new(*name, median(&waits)).to(median(&shares));
        let is_ahead = overrides.len() == 2;
        if is_ahead { line.must(About::Ratio, Target::AtMost(MOST)) } else { line }
    });
    Ok(Section {
        title: format!(
            "a step's wait for its data, MLP 784-64-10, batch 64, 1 thread (medians of {rounds} rounds of {ITERS} \
             steps)"
        ),
        unit: "µs",
        baseline: "step",
        lines: lines.collect(),
    })
}

/// Microseconds that a step waits, and their share of the step.
fn wait(overrides: &[&str]) -> Result<(f64, f64), BenchError> {
    let iters = format!("train.max_iters={ITERS}");
    let overrides: Vec<_> = overrides.iter().copied().chain([iters.as_str()]).collect();
    let mut job = job(&overrides)?;
    let times = Rc::new(Cell::new((0.0, 0.0)));
    let seen = Rc::clone(&times);
    let clock = CallbackHook::new("clock").at(Point::AfterTrainIter, move |t| {
        let (waited, whole) = seen.get();
        seen.set((waited + t.data_time(), whole + t.iter_time()));
        Ok(())
    });
    job.add(clock)?;
    let parts = Parts::build(&job.config)?;
    let trainer = Trainer::assemble(parts, &job, Writers::default(), None, Interrupt::default());
    match trainer?.fit() {
        Ending::Completed => {}
        other => return Err(BenchError::Ending(other.describe().1)),
    }
    let (waited, whole) = times.get();
    Ok((waited * 1e6 / f64::from(ITERS), waited / whole))
}
