//! Standard output and standard error that are full or closed: nothing panics, training continues, and a command whose
//! output is its result fails.

use crate::workbench::{Bench, Ran, program};
use std::process::Command;

/// Runs the program in a shell that redirects what it prints.
fn redirected(bench: &Bench, arguments: &str, redirection: &str) -> Ran {
    let line = format!("'{}' {arguments} {redirection}", program().display());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-c", &line]).current_dir(bench.path(""));
    Ran::of(shell.env_remove("LD_LIBRARY_PATH"))
}

/// The arguments of each command here; training is tested separately.
const PRINTING: [&str; 17] = [
    "--help",
    "--version",
    "train --help",
    "check config.toml",
    "plan config.toml",
    "plan config.toml --json",
    "config config.toml",
    "config config.toml --toml",
    "config --schema",
    "plugins",
    "plugins --markdown",
    "inspect plugins/libema.so",
    "inspect trained",
    "runs .",
    "runs . --json",
    "eval config.toml --checkpoint trained",
    "report trained",
];

#[test]
fn a_result_that_cannot_be_printed_is_an_error() {
    let bench = Bench::new("");
    bench.trained("trained", &[]);
    for arguments in PRINTING {
        let ran = redirected(&bench, arguments, "> /dev/full");
        let message = "error: could not write to standard output: No space left on device";
        assert_eq!(ran.code, Some(6), "{arguments}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{arguments}: {}", ran.stderr);
        let ran = redirected(&bench, arguments, ">&-");
        let message = "error: could not write to standard output: Bad file descriptor";
        assert_eq!(ran.code, Some(6), "{arguments}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{arguments}: {}", ran.stderr);
        // A closed pipe is not an error: `| head` has what it wanted.
        let ran = redirected(&bench, arguments, "| true");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments}");
    }
    // Opened for reading too, as other programs open it for those that they start.
    for nowhere in ["> /dev/null", "1<> /dev/null"] {
        assert_eq!(redirected(&bench, "plan config.toml", nowhere).code, Some(0), "{nowhere}");
    }
}

#[test]
fn an_error_that_cannot_be_printed_keeps_its_exit_code() {
    let bench = Bench::new("");
    bench.trained("trained", &[]);
    for redirection in ["2> /dev/full", "2>&-", "> /dev/full 2> /dev/full", ">&- 2>&- <&-"] {
        for (arguments, code) in [
            ("train", 2),
            ("trian", 2),
            ("check none.toml", 2),
            ("inspect config.toml", 3),
            ("export trained --to none/x.pt", 6),
        ] {
            let ran = redirected(&bench, arguments, redirection);
            assert_eq!(ran.code, Some(code), "{arguments} {redirection}: {}", ran.stderr);
        }
    }
}

#[test]
fn training_continues_without_a_console() {
    let bench = Bench::new("[default_hooks.logger]\ninterval = 1\n");
    let nowhere = ["> /dev/full 2> /dev/full", ">&- 2>&-", "2>&1 | true", "-vvv 2> /dev/full"];
    for (number, redirection) in nowhere.into_iter().enumerate() {
        for more in ["", "--json"] {
            let run = format!("run{number}{more}");
            let arguments = format!("train config.toml --run-dir {run} {more}");
            let ran = redirected(&bench, &arguments, redirection);
            assert_eq!(ran.code, Some(0), "{redirection} {more}: {}", ran.stderr);
            let record = bench.json(&format!("{run}/run.json"));
            assert_eq!(record["outcome"], "completed", "{redirection} {more}");
            assert!(!bench.read(&format!("{run}/log.txt")).contains("panicked"), "{redirection}");
        }
    }
}

#[test]
fn a_current_directory_that_was_removed_is_named() {
    let bench = Bench::new("");
    for arguments in ["--version", "check config.toml"] {
        let line = format!(
            "mkdir gone && cd gone && rmdir ../gone && '{}' {arguments}",
            program().display()
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(bench.path("")).env_remove("LD_LIBRARY_PATH");
        let ran = Ran::of(&mut shell);
        let said = "error: the current directory no longer exists: change to another one\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), said), "{arguments}");
    }
}
