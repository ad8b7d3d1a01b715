//! `hookrack train --supervise`: trains in a child process, which is restarted from its last checkpoint after a crash.
//!
//! The supervisor loads no plugin. The child writes its run directory and the optional hooks to a file ([`RunNote`]).

mod death;
mod decide;
mod run_note;

pub(super) use run_note::write_run_note;

use super::exit::{Failure, PERMANENT};
use crate::launch::{Launch, Outcome, Streams, Style};
use crate::plugins::crash;
use crate::ranks::Ranks;
use crate::report;
use crate::run::{atomic, checkpoint, json_file};
use crate::stdio;
use death::{Death, has_succeeded};
use decide::{Crash, CrashHistory, Decision};
use run_note::{RunNote, VARIABLE};
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Exit code of a run that was completed without a hook that crashed.
const WITHOUT_A_HOOK: u8 = 8;

/// Runs this command line in a child process, without `--supervise`, and restarts it at most `restarts` times.
pub(super) fn run(restarts: u32) -> Result<ExitCode, Failure> {
    let ranks = Ranks::from_env().map_err(Failure::usage)?;
    if !ranks.is_single() {
        return Err(Failure::usage(
            "--supervise is for a run of one process: use `hookrack launch --restarts N` for several",
        ));
    }
    let failed = |error: std::io::Error| Failure::supervisor(&error);
    let note_file = tempfile::NamedTempFile::new().map_err(failed)?;
    let (program, args) = (std::env::current_exe().map_err(failed)?, own_args(std::env::args_os()));
    let mut history = CrashHistory::new(restarts);
    loop {
        let note = RunNote::read(note_file.path());
        let leave_out = history.left_out().flat_map(|hook| ["--leave-out".into(), hook.into()]);
        let launch = Launch {
            program: program.clone(),
            args: args.iter().cloned().chain(leave_out).collect(),
            ranks: 1,
            restarts: 0,
            earlier: history.restarts(),
            permanent: &PERMANENT,
            consequence: super::exit::PEER,
            port: None,
            grace: Duration::from_secs(30),
            run_dir: note.as_ref().map(|note| note.run.clone()),
            environment: vec![(VARIABLE.into(), note_file.path().into())],
            style: Style { inherits: Streams { stdout: true, stderr: true }, is_raw: false },
        };
        let outcome = launch.run(|_, _| {}).map_err(failed)?;
        let note = RunNote::read(note_file.path());
        let end = match outcome {
            Outcome::Interrupted(code) => Ok(code),
            Outcome::Completed if note.as_ref().is_some_and(|note| has_succeeded(&note.run)) => {
                Ok(history.left_out().next().map_or(0, |_| WITHOUT_A_HOOK))
            }
            Outcome::Completed => after(&Death::pretended(), note.as_ref(), &mut history),
            Outcome::Failed(failure) => after(&Death::new(&failure), note.as_ref(), &mut history),
        };
        match end {
            // Restart.
            Err(()) => {}
            Ok(code) => {
                if let Some(note) = &note {
                    record(&note.run, &history);
                }
                return Ok(ExitCode::from(code));
            }
        }
    }
}

/// The exit code after a failure, or `Err` for a restart.
fn after(death: &Death, note: Option<&RunNote>, history: &mut CrashHistory) -> Result<u8, ()> {
    let report = note.and_then(|note| json_file::read::<Json>(&note.run.join(crash::FILE)).ok());
    // An error, not a crash: the child has reported it, and would fail in the same way again.
    if report.is_none() && death.is_clean(note.map(|note| note.run.as_path())) {
        return Ok(death.code);
    }
    let Some(note) = note else {
        stdio::complain(format_args!("{}\nthe run had not started: not restarted", death.message));
        return Ok(death.code);
    };
    restore_terminal();
    let crash = Crash::new(&death.message, report.as_ref(), newest_iter(&note.run));
    note_crash(&note.run, &crash);
    let (next, message) = history.after(&crash, |hook| note.is_optional(hook));
    stdio::complain(format_args!("{message}"));
    match next {
        Decision::Restart => {
            // If the next start fails before it has a report of its own, this one does not explain that.
            crash::set_aside(&note.run.join(crash::FILE));
            Err(())
        }
        Decision::GiveUp => Ok(death.code),
    }
}

/// The arguments of this process, without its name and `--supervise`.
fn own_args(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args = args.skip(1).peekable();
    let mut kept = Vec::new();
    while let Some(arg) = args.next() {
        if arg == "--supervise" {
            args.next_if(|next| next.to_str().is_some_and(|text| text.parse::<u32>().is_ok()));
        } else if !arg.to_str().is_some_and(|text| text.starts_with("--supervise=")) {
            kept.push(arg);
        }
    }
    kept
}

/// The iteration of the newest checkpoint; 0 without one.
fn newest_iter(run: &Path) -> u64 {
    checkpoint::newest_state(&run.join("checkpoints")).map_or(0, |state| state.position.iter)
}

/// Shows the cursor, which a crashed child has left hidden.
fn restore_terminal() {
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        let _ = console::Term::stdout().show_cursor();
    }
}

/// Records a crash in `run.json`; the next start moves it to `earlier`.
fn note_crash(run: &Path, crash: &Crash) {
    change_record(run, |record| {
        record["outcome"] = "crashed".into();
        record["why"] = crash.message.clone().into();
        if let Some(iter) = crash.iter {
            record["iter"] = iter.into();
        }
    });
}

/// Records all crashes of a run in `run.json` and in the report.
fn record(run: &Path, history: &CrashHistory) {
    if history.restarts() == 0 && history.crashes.is_empty() {
        return;
    }
    change_record(run, |record| record["supervised"] = history.to_json());
    if let Err(error) = report::write(run, None) {
        tracing::warn!("could not write the report: {error}");
    }
}

fn change_record(run: &Path, change: impl FnOnce(&mut Json)) {
    let mut record = json_file::record(run).unwrap_or_else(|| json!({}));
    change(&mut record);
    let text = json_file::pretty(&record);
    if let Err(error) = atomic::write(&run.join("run.json"), text.as_bytes()) {
        tracing::warn!("{error}");
    }
}

/// The number of restarts on the command line.
pub(super) fn restarts(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "not a number of restarts; put the config before --supervise".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_the_arguments_of_its_supervisor_except_supervise() {
        let args = |text: &str| {
            let kept = own_args(text.split(' ').map(OsString::from));
            kept.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(args("hookrack train a.toml --supervise 3 -v"), "train a.toml -v");
        assert_eq!(args("hookrack train --supervise=3 a.toml"), "train a.toml");
        assert_eq!(args("hookrack train a.toml --supervise --resume"), "train a.toml --resume");
    }
}
