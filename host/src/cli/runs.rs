//! `hookrack runs`: what is in a folder of runs, and which of them are alive.

use super::exit::Failure;
use crate::run::{RunDirError, RunLock, checkpoint};
use clap::Args;
use hookrack_plugin_api::Phase;
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
    let name = path.file_name()?.to_string_lossy().into_owned();
    let (iter, best) = reached(path, &record);
    Some([name, state.to_owned(), iter.to_string(), best])
}

/// How far a run came and its best values: by its record, or, where that has no end yet, by what it has left so far.
fn reached(path: &Path, record: &Json) -> (u64, String) {
    if let Some(iter) = record["iter"].as_u64() {
        return (iter, recorded_best(record));
    }
    let saved = checkpoint::newest_facts(&path.join("checkpoints")).unwrap_or_default();
    let iter = saved.position.iter.max(last_iter(path).unwrap_or(0));
    let best = saved.metrics.iter().filter_map(|reading| {
        let phase = Phase::from_code(reading.phase).name();
        Some((format!("{phase}/{}", reading.name), reading.best?))
    });
    (iter, of_validation(best))
}

/// The last iteration of `metrics.json`.
fn last_iter(path: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(path.join("metrics.json")).ok()?;
    let lines = text.lines().rev();
    lines
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .find_map(|line| line["iter"].as_u64())
}

fn recorded_best(record: &Json) -> String {
    let metrics = record["metrics"].as_object().into_iter().flatten();
    of_validation(
        metrics.filter_map(|(name, value)| Some((name.clone(), value["best"]["value"].as_f64()?))),
    )
}

/// The best values of the metrics of validation, in one line.
fn of_validation(best: impl Iterator<Item = (String, f64)>) -> String {
    let shown = best.filter(|(name, _)| name.starts_with("val/"));
    shown.map(|(name, value)| format!("{name} {value:.4}")).collect::<Vec<_>>().join(", ")
}
