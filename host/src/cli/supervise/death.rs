//! How the process of a supervised run ended, and whether it exited by itself.

use crate::launch::RankFailure;
use crate::run::{COMPLETED, json_file};
use signal_hook::low_level::signal_name;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

/// Exit code for a process that ended with 0 before its run was complete.
const HOOK_FAILED: u8 = 4;

/// A process that ended without completing its run.
pub(super) struct Death {
    /// The exit code to pass on: never 0.
    pub(super) code: u8,
    /// The cause, as far as the exit status tells.
    pub(super) message: String,
    /// Whether the process may have ended by itself, with an error that it has printed.
    may_be_clean: bool,
}

impl Death {
    /// Of a process that failed or was killed.
    pub(super) fn new(failure: &RankFailure) -> Self {
        let code = failure.exit_code();
        match failure.status.signal() {
            Some(signal) => {
                let name = signal_name(signal).unwrap_or("a signal");
                Self { code, message: format!("the run was killed by {name}"), may_be_clean: false }
            }
            None => Self { code, message: silent(code), may_be_clean: true },
        }
    }

    /// Of a process that ended with exit code 0, although its run was not complete.
    pub(super) fn pretended() -> Self {
        Self { code: HOOK_FAILED, message: silent(0), may_be_clean: false }
    }

    /// Whether the process ended with an error of its own: it had not begun to train, or `run.json` has the outcome.
    pub(super) fn is_clean(&self, run: Option<&Path>) -> bool {
        self.may_be_clean && run.and_then(outcome).as_deref() != Some("running")
    }
}

fn silent(code: u8) -> String {
    format!(
        "the process ended with exit code {code} before the run was complete, without an error; a plugin may have called _exit()"
    )
}

/// Whether `run.json` says that the run was completed or stopped. The directory of a trial run is gone by then.
pub(super) fn has_succeeded(run: &Path) -> bool {
    outcome(run).map_or_else(|| !run.exists(), |it| it == COMPLETED || it == "stopped")
}

fn outcome(run: &Path) -> Option<String> {
    json_file::record(run)?["outcome"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    fn failure(status: i32) -> RankFailure {
        let status = ExitStatus::from_raw(status);
        RankFailure { rank: 0, status, last_lines: Vec::new() }
    }

    #[test]
    fn an_exit_code_counts_only_with_the_outcome_in_run_json() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let write = |outcome: &str| {
            std::fs::write(run.join("run.json"), format!("{{\"outcome\": \"{outcome}\"}}"))
                .unwrap();
        };
        assert!(!has_succeeded(run), "a run directory without a record");
        for (outcome, is_success, is_clean) in [
            ("completed", true, true),
            ("stopped", true, true),
            ("failed", false, true),
            ("running", false, false),
            ("crashed", false, true),
        ] {
            write(outcome);
            assert_eq!(has_succeeded(run), is_success, "{outcome}");
            assert_eq!(Death::new(&failure(3 << 8)).is_clean(Some(run)), is_clean, "{outcome}");
            assert!(!Death::new(&failure(11)).is_clean(Some(run)), "{outcome}");
            assert!(!Death::pretended().is_clean(Some(run)), "{outcome}");
        }
        assert!(Death::new(&failure(2 << 8)).is_clean(None));
        assert_eq!(Death::new(&failure(11)).message, "the run was killed by SIGSEGV");
        assert!(has_succeeded(&run.join("trial")), "a trial run leaves nothing");
    }
}
