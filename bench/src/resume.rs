//! The time to the end of the first iteration, of a run resumed after ten million samples and of a new one.

use crate::error::BenchError;
use crate::program;
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;
use std::path::Path;

/// Iterations before the run is resumed: ten million samples.
const ITERS: u32 = 2000;
/// Small samples, so that ten million of them take little time; all in one epoch.
const SETTINGS: [&str; 6] = [
    "data.train.samples=20000000",
    "data.train.shape=[4]",
    "data.train.in_memory=false",
    "train.batch_size=5000",
    "train.max_iters=4000",
    "model.hidden=[8]",
];

/// How much longer a resume may take: it only reads a checkpoint.
const MOST: f64 = 1.2;

/// Alternates this many starts and resumes.
pub(crate) fn measure(rounds: u32) -> Result<Section, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::file(std::env::temp_dir()))?;
    let old = folder.path().join("old");
    until(&old, ITERS)?;
    let (mut fresh, mut resumed) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        fresh.push(until(&folder.path().join(format!("new{round}")), 1)?);
        resumed.push(until(&old, ITERS + round)?);
    }
    let ratios: Vec<_> =
        resumed.iter().zip(&fresh).map(|(resumed, fresh)| resumed / fresh).collect();
    Ok(Section {
        title: format!(
            "from the start of the program to the end of an iteration (medians of {rounds})"
        ),
        unit: "s",
        baseline: "x fresh",
        lines: vec![
            Line::new("a new run", median(&fresh)).to(1.0),
            Line::new("a run resumed after 10 million samples", median(&resumed))
                .to(median(&ratios))
                .must(About::Ratio, Target::AtMost(MOST)),
        ],
    })
}

/// The seconds of a new or resumed run until an iteration is done.
fn until(run: &Path, iter: u32) -> Result<f64, BenchError> {
    let (run, iter) = (run.to_string_lossy(), iter.to_string());
    let fixed = ["train", "bench/mlp.toml", "--resume", "--quiet", "--run-dir", &run];
    let settings = SETTINGS.iter().flat_map(|set| ["-s", set]);
    let all: Vec<_> = fixed.into_iter().chain(["--until", &iter]).chain(settings).collect();
    program::seconds(&all)
}
