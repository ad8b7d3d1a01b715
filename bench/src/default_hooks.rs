//! The cost of the default hooks, compared with a step of two milliseconds.

use crate::error::BenchError;
use crate::measured_hooks::job;
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::{MetricsJson, Writers};
use std::path::Path;

/// Iterations of a round.
const ITERS: u32 = 300;

/// A hundredth of two milliseconds, in microseconds.
const MOST: f64 = 20.0;

/// Measures the cost per step of each default hook and of all of them.
pub(crate) fn measure(rounds: usize) -> Result<Section, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))?;
    let mut costs: Vec<(String, Vec<f64>)> = Vec::new();
    for round in 0..rounds {
        for (name, cost) in cost_each(&folder.path().join(format!("{round}.json")))? {
            match costs.iter_mut().find(|(known, _)| *known == name) {
                Some((_, costs)) => costs.push(cost),
                None => costs.push((name, vec![cost])),
            }
        }
    }
    let lines: Vec<_> = costs.iter().map(|(name, costs)| Line::new(name, median(costs))).collect();
    let together = lines.iter().map(|line| line.value).sum();
    let all = Line::new("all of them", together).must(About::Value, Target::AtMost(MOST));
    Ok(Section {
        title: format!(
            "a step's time in default hooks, writing of metrics.json included \
             (medians of {rounds} rounds of {ITERS} steps; at most 1 % of 2 ms)"
        ),
        unit: "µs",
        baseline: "",
        lines: lines.into_iter().chain([all]).collect(),
    })
}

/// Microseconds per step of each default hook, except the main one, which is the step itself.
fn cost_each(log: &Path) -> Result<Vec<(String, f64)>, BenchError> {
    let job = job(&[&format!("train.max_iters={ITERS}")])?;
    let mut writers = Writers::default();
    writers.add(MetricsJson::open(log)?);
    let parts = Parts::build(&job.config)?;
    let mut trainer = Trainer::assemble(parts, &job, writers, None, Interrupt::default())?;
    match trainer.fit() {
        Ending::Completed => {}
        other => return Err(BenchError::Ending(other.describe().1)),
    }
    let observers = trainer.costs().into_iter().filter(|cost| cost.name != "MainHook");
    Ok(observers
        .map(|cost| {
            let each = cost.total().as_secs_f64() * 1e6 / f64::from(ITERS);
            (cost.name, each)
        })
        .collect())
}
