//! Runs all test programs, even if one fails, and lists the failures at the end.

pub(crate) mod cpus;
mod transcript;

use std::{
    fmt::Write as _,
    io::{self, BufRead as _, BufReader},
    process::Command,
};

use crate::{
    process::{self, ProcessError},
    report,
    workspace::Workspace,
};
pub(crate) use transcript::{Failure, Transcript};

/// All packages except xtask, which is running: selecting single packages may change features and rebuild libtorch's bindings.
pub(crate) const WORKSPACE: [&str; 2] = ["--workspace", "--exclude=xtask"];

/// The targets with unit tests. A part of them alone would select fewer packages, whose features rebuild what they depend on.
pub(crate) const UNIT_TARGETS: [&str; 3] = ["--lib", "--bins", "--examples"];

/// The tests of the suite whose names contain `filter`, with what they print.
pub(crate) fn suite(workspace: &Workspace, filter: &str) -> Command {
    let mut command = process::cargo();
    command.current_dir(workspace.root()).arg("test").args(WORKSPACE);
    command.args(["--test=suite", "--", filter, "--nocapture"]);
    in_parallel(&mut command);
    command
}

/// Lets the tests of a program run at the same time, more of them than the machine has cores: those of ranks and of failures mostly wait.
pub(crate) fn in_parallel(command: &mut Command) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    command.env("RUST_TEST_THREADS", (cores + cores.div_ceil(2)).to_string());
}

/// Runs `cargo test --no-fail-fast`, forwards its output line by line, and returns the results of its test programs.
///
/// # Errors
/// It could not be started, or failed without a failing test: something did not compile.
pub(crate) fn run(
    command: &mut Command,
    pass_on: impl Fn(&str),
) -> Result<Transcript, ProcessError> {
    let (reader, writer) = io::pipe().map_err(|source| process::not_started(command, source))?;
    let both = writer.try_clone().map_err(|source| process::not_started(command, source))?;
    // One pipe for both: cargo names a program on one stream, and the program writes to the other.
    command.stdout(writer).stderr(both);
    let child = command.spawn();
    // Dropping the command closes the other end of the pipe, so that the reader reaches its end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = child.map_err(|source| process::not_started(command, source))?;
    let mut transcript = Transcript::default();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        pass_on(text.trim_end_matches('\n'));
        transcript.read(text.trim_end());
        line.clear();
    }
    let status = child.wait().map_err(|source| process::not_started(command, source))?;
    if transcript.failures().is_empty() {
        process::ended_well(command, status, "")?;
    }
    Ok(transcript)
}

/// The summary of several runs: one line for each, then each failure with the output of the test.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: Vec<(String, String)>,
    failures: Vec<String>,
    details: Vec<String>,
    runs: usize,
}

impl Tally {
    /// Adds a run, named after its settings, and which of its failures passed when they were run again.
    pub(crate) fn add(&mut self, name: &str, run: &Transcript, flaky: &[Failure]) {
        let (passed_again, failed): (Vec<_>, Vec<_>) =
            run.failures().into_iter().partition(|failure| flaky.contains(failure));
        let mut row = format!("{} passed", run.passed());
        for (word, failures) in [("FAILED", &failed), ("FLAKY", &passed_again)] {
            if !failures.is_empty() {
                let _ = write!(row, ", {} {word}", failures.len());
            }
            for failure in failures {
                self.details.push(format!("{word} {name}: {failure}"));
                self.details.extend(failure.said.iter().map(|line| format!("  | {line}")));
            }
        }
        self.row(name, &row);
        self.failures.extend(failed.iter().map(|failure| format!("{name}: {failure}")));
    }

    /// Adds a run that could not be completed.
    pub(crate) fn add_broken(&mut self, name: &str, why: &ProcessError) {
        self.row(name, "FAILED");
        self.failures.push(format!("{name}: {why}"));
        self.details.push(format!("FAILED {name}: {why}"));
    }

    /// Adds a run that was skipped, and why.
    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        self.rows.push((name.to_owned(), format!("skipped: {why}")));
    }

    fn row(&mut self, name: &str, outcome: &str) {
        self.rows.push((name.to_owned(), outcome.to_owned()));
        self.runs += 1;
    }

    /// The summary, line by line.
    fn lines(&self) -> Vec<String> {
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let rows = self.rows.iter().map(|(name, outcome)| format!("{name:<width$}  {outcome}"));
        rows.chain(self.details.iter().cloned()).collect()
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// Something failed.
    pub(crate) fn summarize(self) -> Result<(), TestsFailed> {
        report::step("summary of the tests");
        for line in self.lines() {
            report::note(&line);
        }
        match self.failures.len() {
            0 => Ok(()),
            failed => Err(TestsFailed { failed, runs: self.runs, details: self.details }),
        }
    }
}

/// Some tests failed; the summary lists them.
#[derive(Debug, thiserror::Error)]
#[error("{failed} {} in {runs} {}; the summary above names each", plural(*failed, "failure"), plural(*runs, "run"))]
pub(crate) struct TestsFailed {
    failed: usize,
    runs: usize,
    /// Each failure with the output of the test.
    pub(crate) details: Vec<String>,
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A package whose first test program fails, whose second crashes, and whose third passes.
    fn package() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "Cargo.toml",
            "[package]\nname = \"three\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
        );
        write("src/lib.rs", "");
        write(
            "tests/a_fails.rs",
            "#[test]\nfn one() { println!(\"failures:\"); println!(\"    nothing\"); panic!() }\n\
             #[test]\nfn two() {}\n#[test]\nfn three() { assert!(std::env::var(\"CPU\").is_err()) }\n",
        );
        write("tests/b_dies.rs", "#[test]\nfn gone() { std::process::abort() }\n");
        write("tests/c_passes.rs", "#[test]\nfn fine() {}\n");
        folder
    }

    fn cargo_test(folder: &tempfile::TempDir) -> Command {
        let mut command = process::cargo();
        command.current_dir(folder.path()).args(["test", "--no-fail-fast", "--offline"]);
        // Not the target folder of the workspace under test.
        command.env("CARGO_TARGET_DIR", folder.path().join("target"));
        command
    }

    #[test]
    fn all_failures_are_listed_if_one_program_fails_and_another_crashes() {
        let folder = package();
        let mut tally = Tally::default();
        tally.add("plain", &run(&mut cargo_test(&folder), |_| ()).unwrap(), &[]);
        let with_cpu = run(cargo_test(&folder).env("CPU", "old"), |_| ()).unwrap();
        tally.add("with CPU", &with_cpu, &with_cpu.failures()[1..2]);
        tally.skip("AVX-512", "this CPU has no avx512f");
        let lines = tally.lines();
        let (said, lines): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.starts_with("  | "));
        assert_eq!(
            lines,
            [
                "plain     3 passed, 2 FAILED",
                "with CPU  2 passed, 2 FAILED, 1 FLAKY",
                "AVX-512   skipped: this CPU has no avx512f",
                "FAILED plain: a_fails (tests/a_fails.rs): one",
                "FAILED plain: b_dies (tests/b_dies.rs): the program exited before its tests had finished",
                "FAILED with CPU: a_fails (tests/a_fails.rs): one",
                "FAILED with CPU: b_dies (tests/b_dies.rs): the program exited before its tests had finished",
                "FLAKY with CPU: a_fails (tests/a_fails.rs): three",
            ]
        );
        assert!(said[0].contains("panicked at tests/a_fails.rs:2"), "{said:?}");
        let error = tally.summarize().unwrap_err();
        assert_eq!(error.to_string(), "4 failures in 2 runs; the summary above names each");
        assert!(error.details.iter().any(|line| line.contains("panicked at")));
    }

    #[test]
    fn what_does_not_compile_is_an_error_of_its_own() {
        let folder = package();
        fs::write(folder.path().join("src/lib.rs"), "no Rust").unwrap();
        let error = run(&mut cargo_test(&folder), |_| ()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("ended with exit code 101"), "{said}");
        let mut tally = Tally::default();
        tally.add_broken("plain", &error);
        assert!(tally.summarize().is_err());
    }
}
