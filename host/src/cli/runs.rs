//! `hookrack runs`: what is in a folder of runs, and which of them are alive.

use super::exit::Failure;
use crate::run::{RunDirError, RunLock};
use clap::Args;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// List the runs of a folder: state, last iteration, best metric
#[derive(Args)]
#[command(after_help = "\
Examples:
  hookrack runs
  hookrack runs /data/experiments")]
pub(super) struct RunsArgs {
    /// The folder that holds the run directories
    #[arg(default_value = "runs")]
    dir: PathBuf,
}

pub(super) fn run(args: &RunsArgs) -> Result<ExitCode, Failure> {
    let entries = std::fs::read_dir(&args.dir).map_err(RunDirError::io("read", &args.dir))?;
    let mut rows: Vec<[String; 4]> =
        entries.flatten().filter_map(|entry| row(&entry.path())).collect();
    rows.sort();
    if rows.is_empty() {
        say!("no runs in {}", args.dir.display());
        return Ok(ExitCode::SUCCESS);
    }
    rows.insert(0, ["run", "state", "iteration", "best"].map(str::to_owned));
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c] = [width(0), width(1), width(2)];
    for [name, state, iter, best] in &rows {
        say!("{name:<a$}  {state:<b$}  {iter:>c$}  {best}");
    }
    Ok(ExitCode::SUCCESS)
}

fn row(path: &Path) -> Option<[String; 4]> {
    let record: Json = serde_json::from_slice(&std::fs::read(path.join("run.json")).ok()?).ok()?;
    let outcome = record["outcome"].as_str().unwrap_or("unknown");
    let state = match (outcome, RunLock::is_held(path)) {
        (_, true) => "running",
        // Its record says that it runs, and nobody holds the lock.
        ("running", false) => "killed",
        (outcome, false) => outcome,
    };
    let iter = record["iter"].as_u64().or_else(|| last_iter(path)).unwrap_or(0);
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some([name, state.to_owned(), iter.to_string(), best(&record)])
}

/// The last iteration of `metrics.json`, for a run that has no end in its record.
fn last_iter(path: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(path.join("metrics.json")).ok()?;
    let lines = text.lines().rev();
    lines
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .find_map(|line| line["iter"].as_u64())
}

/// The best values of the metrics of validation.
fn best(record: &Json) -> String {
    let metrics = record["metrics"].as_object().into_iter().flatten();
    let best = metrics.filter(|(name, _)| name.starts_with("val/")).filter_map(|(name, value)| {
        let best = value["best"]["value"].as_f64()?;
        Some(format!("{name} {best:.4}"))
    });
    best.collect::<Vec<_>>().join(", ")
}
