//! Rust allocations per training iteration. libtorch has its own allocator and is not counted.

use crate::error::BenchError;
use crate::measured_hooks::workspace;
use crate::report::{About, Line, Section, Target};
use hookrack::job::Job;
use hookrack::train::{Ending, Interrupt, Parts, Trainer};
use hookrack::writers::{MetricsJson, Writers};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::path::Path;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const METRICS: &str = "\n[[metrics]]\ntype = \"Accuracy\"\nphase = \"train\"\n\n[[metrics]]\ntype = \"Loss\"\nphase = \"train\"\n";

/// Counts over this many iterations, after a warm-up.
pub(crate) fn measure(iters: u64) -> Result<Section, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))?;
    let plain = workspace().join("bench/mlp.toml");
    let with_metrics = folder.path().join("metrics.toml");
    let text = std::fs::read_to_string(&plain).map_err(BenchError::file(&plain))?;
    std::fs::write(&with_metrics, text + METRICS).map_err(BenchError::file(&with_metrics))?;

    let nothing = (About::Value, Target::AtMost(0.0));
    let log = folder.path().join("metrics.json");
    let mut lines = Vec::new();
    for (name, config, log, target) in [
        ("default hooks, nothing written", &plain, None, Some(nothing)),
        ("default hooks, Accuracy and Loss, nothing written", &with_metrics, None, Some(nothing)),
        ("default hooks, metrics.json every 20 iterations", &plain, Some(log.as_path()), None),
    ] {
        let line = Line::new(name, per_iteration(config, iters, log)?);
        lines.push(Line { target, ..line });
    }
    let title = format!(
        "Rust allocations in one training iteration (mean of {iters}, epochs' ends included)"
    );
    Ok(Section { title, unit: "count", baseline: "", lines })
}

/// The difference between a run and one of twice its length, so that the costs of start and end cancel.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn per_iteration(config: &Path, iters: u64, log: Option<&Path>) -> Result<f64, BenchError> {
    // Lookups that happen once per process cancel too.
    count(config, 1, log)?;
    let once = count(config, iters, log)?;
    let twice = count(config, 2 * iters, log)?;
    Ok((twice as f64 - once as f64) / iters as f64)
}

fn count(config: &Path, iters: u64, log: Option<&Path>) -> Result<usize, BenchError> {
    let overrides = [format!("train.max_iters={iters}"), "data.train.samples=6400".to_owned()];
    let job = Job::load(config, &overrides)?;
    let mut writers = Writers::default();
    if let Some(log) = log {
        writers.add(MetricsJson::open(log)?);
    }
    let mut trainer =
        Trainer::assemble(Parts::build(&job.config)?, &job, writers, None, Interrupt::default())?;
    let region = Region::new(COUNTING);
    let ending = trainer.fit();
    let change = region.change();
    match ending {
        Ending::Completed => Ok(change.allocations + change.reallocations),
        other => Err(BenchError::Ending(other.describe().1)),
    }
}
