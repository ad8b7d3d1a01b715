//! Test programs: all of them run, whatever one does, and what failed is told at the end.

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
};
pub(crate) use transcript::Transcript;

/// Runs a `cargo test --no-fail-fast`, passes on what it says line by line, and gives what became of its test programs.
///
/// # Errors
/// It could not be started, or failed without a test to blame: something did not compile.
pub(crate) fn run(
    command: &mut Command,
    pass_on: impl Fn(&str),
) -> Result<Transcript, ProcessError> {
    let (reader, writer) = io::pipe().map_err(|source| process::not_started(command, source))?;
    let both = writer.try_clone().map_err(|source| process::not_started(command, source))?;
    // One pipe for both: cargo names a program on one stream, and the program speaks on the other.
    command.stdout(writer).stderr(both);
    let child = command.spawn();
    // The command holds the pipe's other end; without it the reader sees the end of what is said.
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

/// What was said of some runs at the end: one line for each, then one for each failure.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: Vec<(String, String)>,
    failures: Vec<String>,
    runs: usize,
}

impl Tally {
    /// Adds a run, under the name of what it was run with.
    pub(crate) fn add(&mut self, name: &str, run: &Transcript) {
        let failures = run.failures();
        let mut row = format!("{} passed", run.passed());
        if !failures.is_empty() {
            let _ = write!(row, ", {} FAILED", failures.len());
        }
        self.row(name, &row);
        self.failures.extend(failures.into_iter().map(|failure| format!("{name}: {failure}")));
    }

    /// Adds a run that came to nothing.
    pub(crate) fn add_broken(&mut self, name: &str, why: &ProcessError) {
        self.row(name, "FAILED");
        self.failures.push(format!("{name}: {why}"));
    }

    /// Adds what was not run, and why.
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
        rows.chain(self.failures.iter().map(|failure| format!("FAILED {failure}"))).collect()
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// Something failed.
    pub(crate) fn summarize(&self) -> Result<(), TestsFailed> {
        report::step("summary of the tests");
        for line in self.lines() {
            report::note(&line);
        }
        match self.failures.len() {
            0 => Ok(()),
            failed => Err(TestsFailed { failed, runs: self.runs }),
        }
    }
}

/// Some tests failed; the summary has said which.
#[derive(Debug, thiserror::Error)]
#[error("{failed} {} in {runs} {}; the summary above names each", plural(*failed, "failure"), plural(*runs, "run"))]
pub(crate) struct TestsFailed {
    failed: usize,
    runs: usize,
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A package whose first test program fails, whose second dies, and whose third is fine.
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
        // The target folder of whoever runs these tests is not this package's.
        command.env("CARGO_TARGET_DIR", folder.path().join("target"));
        command
    }

    #[test]
    fn a_failing_and_a_dying_program_hide_no_other_and_all_are_named() {
        let folder = package();
        let mut tally = Tally::default();
        tally.add("plain", &run(&mut cargo_test(&folder), |_| ()).unwrap());
        tally.add("with CPU", &run(cargo_test(&folder).env("CPU", "old"), |_| ()).unwrap());
        tally.skip("AVX-512", "this CPU has no avx512f");
        assert_eq!(
            tally.lines(),
            [
                "plain     3 passed, 2 FAILED",
                "with CPU  2 passed, 3 FAILED",
                "AVX-512   skipped: this CPU has no avx512f",
                "FAILED plain: a_fails (tests/a_fails.rs): one",
                "FAILED plain: b_dies (tests/b_dies.rs): the program ended before its tests did",
                "FAILED with CPU: a_fails (tests/a_fails.rs): one",
                "FAILED with CPU: a_fails (tests/a_fails.rs): three",
                "FAILED with CPU: b_dies (tests/b_dies.rs): the program ended before its tests did",
            ]
        );
        let error = tally.summarize().unwrap_err();
        assert_eq!(error.to_string(), "5 failures in 2 runs; the summary above names each");
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
