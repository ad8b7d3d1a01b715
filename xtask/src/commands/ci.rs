//! `cargo xtask ci`: every check that a pull request must pass, each timed, all of them even if one fails.

use std::time::{Duration, Instant};

use super::test;
use crate::{
    cli::Test, compiler::on_path, error::TaskError, libtorch, process, report, workspace::Workspace,
};

struct Outcome {
    name: &'static str,
    took: Duration,
    result: Result<(), TaskError>,
}

pub(crate) fn ci(workspace: &Workspace) -> Result<(), TaskError> {
    let mut outcomes = vec![timed("fmt", || cargo(workspace, &["fmt", "--all", "--check"]))];
    // Nothing below compiles without libtorch.
    libtorch::ensure(workspace, false)?;
    outcomes.push(timed("clippy", || clippy(workspace)));
    outcomes.push(timed("doc", || doc(workspace)));
    let every_test = Test { retry: true, ..Test::default() };
    outcomes.push(timed("test", || test::test(workspace, &every_test)));
    // The unit tests only: the numeric part of the suite takes minutes per setting.
    let unit_tests = Test { cpus: true, lib: true, retry: true, ..Test::default() };
    outcomes.push(timed("cpus", || test::test(workspace, &unit_tests)));
    if on_path("cargo-deny").is_some() {
        outcomes.push(timed("deny", || cargo(workspace, &["deny", "check"])));
    } else {
        report::note(
            "deny: skipped, cargo-deny is not installed (`cargo install cargo-deny --locked`)",
        );
    }
    summarize(&outcomes)
}

fn timed(name: &'static str, check: impl FnOnce() -> Result<(), TaskError>) -> Outcome {
    report::step(name);
    let since = Instant::now();
    let result = check();
    if let Err(error) = &result {
        report::failure(error);
    }
    Outcome { name, took: since.elapsed(), result }
}

/// xtask is checked separately, so that its features do not change those of the host's dependencies.
const SELECTIONS: [&[&str]; 2] = [&["--workspace", "--exclude=xtask"], &["--package=xtask"]];

fn clippy(workspace: &Workspace) -> Result<(), TaskError> {
    for selection in SELECTIONS {
        let args = [&["clippy"], selection, &["--all-targets", "--", "-D", "warnings"]].concat();
        cargo(workspace, &args)?;
    }
    Ok(())
}

fn doc(workspace: &Workspace) -> Result<(), TaskError> {
    for selection in SELECTIONS {
        let mut command = process::cargo();
        command.current_dir(workspace.root()).env("RUSTDOCFLAGS", "-D warnings");
        command.args(["doc", "--no-deps"]).args(selection);
        process::run(&mut command)?;
    }
    Ok(())
}

fn cargo(workspace: &Workspace, args: &[&str]) -> Result<(), TaskError> {
    Ok(process::run(process::cargo().current_dir(workspace.root()).args(args))?)
}

fn summarize(outcomes: &[Outcome]) -> Result<(), TaskError> {
    report::step("summary");
    for outcome in outcomes {
        report::note(&row(outcome));
    }
    // Repeated at the end, where the reader of a long log looks first.
    for outcome in outcomes {
        if let Err(TaskError::Tests(tests)) = &outcome.result {
            tests.details.iter().for_each(|line| report::note(line));
        }
    }
    let failed: Vec<&str> =
        outcomes.iter().filter(|outcome| outcome.result.is_err()).map(|o| o.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(TaskError::Checks { failed: failed.len(), all: outcomes.len(), names: failed.join(", ") })
}

fn row(outcome: &Outcome) -> String {
    let word = if outcome.result.is_ok() { "ok" } else { "FAILED" };
    format!("{:<8}{:>8.1} s  {word}", outcome.name, outcome.took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, fails: bool) -> Outcome {
        let failure = TaskError::NoPackage { package: "p", folder: "f" };
        let result = if fails { Err(failure) } else { Ok(()) };
        Outcome { name, took: Duration::from_millis(12_340), result }
    }

    #[test]
    fn one_failure_fails_all_and_is_named() {
        let error = summarize(&[outcome("fmt", false), outcome("doc", true)]).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 checks failed: doc");
        summarize(&[outcome("fmt", false)]).unwrap();
    }

    #[test]
    fn a_row_has_name_seconds_and_outcome() {
        assert_eq!(row(&outcome("fmt", false)), "fmt         12.3 s  ok");
        assert_eq!(row(&outcome("clippy", true)), "clippy      12.3 s  FAILED");
    }
}
