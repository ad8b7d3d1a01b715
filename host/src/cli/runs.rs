//! `hookrack runs`: the runs in a folder and their states.

use super::exit::Failure;
use super::run_state::RunState;
use crate::plugins::loader::visible;
use crate::run::RunDirError;
use clap::Args;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::ExitCode;

/// List runs with their state, last iteration and best validation metrics
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack runs
  hookrack runs /data/experiments
  hookrack runs --json | jq -r '.[] | select(.state == \"failed\") | .path'

States: running, completed, stopped (by a hook or a limit), interrupted (by a signal), failed,
crashed (crash.json in its directory has the report), killed."))]
pub(super) struct RunsArgs {
    /// Directory that holds the run directories
    #[arg(default_value = "runs")]
    dir: PathBuf,

    /// Print a JSON array of objects with name, path, state, why, epoch, iter, best, config, began and seconds
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &RunsArgs) -> Result<ExitCode, Failure> {
    if !args.dir.is_dir() {
        let dir = args.dir.display();
        return Err(Failure::usage(format!(
            "no directory {dir}: pass the directory that holds the runs, `hookrack runs DIR`"
        )));
    }
    let entries = std::fs::read_dir(&args.dir).map_err(RunDirError::io("read", &args.dir))?;
    let mut runs: Vec<_> =
        entries.flatten().filter_map(|entry| RunState::read(&entry.path())).collect();
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    if args.json {
        let runs: Vec<Json> = runs.iter().map(RunState::json).collect();
        say!("{:#}", Json::Array(runs));
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        say!("no runs in {}", args.dir.display());
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["run", "state", "iteration", "best"].map(str::to_owned)];
    rows.extend(runs.iter().map(row));
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c] = [width(0), width(1), width(2)];
    for [name, state, iter, best] in &rows {
        say!("{}", format!("{name:<a$}  {state:<b$}  {iter:>c$}  {best}").trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

fn row(run: &RunState) -> [String; 4] {
    // Whoever can create a folder must not control the terminal.
    let shown = |text: &str| visible(text).into_owned();
    [shown(&run.name), shown(&run.state), run.iter.to_string(), shown(&run.best_line())]
}
