//! Parses the output of `cargo test`: which test programs ran, and which of their tests failed, with their output.

use std::fmt;

/// How many lines of a failed test's output are kept.
const LINES: usize = 20;

/// The test programs of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    programs: Vec<Program>,
    // In a list of failed tests; the details before it have the same heading.
    listed: Option<Vec<String>>,
    // What each failed test of the current program printed.
    details: Vec<(String, Vec<String>)>,
}

#[derive(Debug)]
struct Program {
    name: String,
    passed: usize,
    failed: Vec<(String, Vec<String>)>,
    has_ended: bool,
}

/// A test that failed, or a program that crashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The test program: `suite (tests/suite/main.rs)`.
    pub(crate) program: String,
    /// The test; `None` if the program exited before its tests had finished.
    pub(crate) test: Option<String>,
    /// What it printed, from its panic on, shortened.
    pub(crate) said: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let test =
            self.test.as_deref().unwrap_or("the program exited before its tests had finished");
        write!(f, "{}: {test}", self.program)
    }
}

impl Transcript {
    /// Parses the next line.
    pub(crate) fn read(&mut self, line: &str) {
        let line = &without_color(line);
        if let Some(name) = begun(line) {
            self.listed = None;
            self.details.clear();
            self.programs.push(Program { name, passed: 0, failed: Vec::new(), has_ended: false });
        } else if line == "failures:" {
            self.listed = Some(Vec::new());
        } else if let Some(test) = detailed(line).filter(|_| self.listed.is_some()) {
            self.details.push((test.to_owned(), Vec::new()));
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.end(result);
        } else if let (Some(listed), Some(name)) = (&mut self.listed, line.strip_prefix("    ")) {
            listed.push(name.trim().to_owned());
        }
        if let Some((_, said)) = self.details.last_mut() {
            said.push(line.clone());
        }
    }

    fn end(&mut self, result: &str) {
        let listed = self.listed.take().unwrap_or_default();
        if let Some((_, said)) = self.details.last_mut() {
            // The list of all failures, which follows the last details; a test may have printed such a line too.
            said.truncate(said.iter().rposition(|line| line == "failures:").unwrap_or(said.len()));
        }
        let Some(program) = self.programs.last_mut() else { return };
        program.has_ended = true;
        program.passed += passed(result).unwrap_or(0);
        if result.starts_with("FAILED") {
            let of = |test: &String| self.details.iter().find(|(name, _)| name == test);
            let said = |test: &String| of(test).map_or(Vec::new(), |(_, said)| shortened(said));
            program.failed.extend(listed.into_iter().map(|test| {
                let said = said(&test);
                (test, said)
            }));
        }
    }

    /// How many tests passed.
    pub(crate) fn passed(&self) -> usize {
        self.programs.iter().map(|program| program.passed).sum()
    }

    /// Every failure, in order.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        let of = |program: &Program| {
            let failed =
                program.failed.iter().map(|(test, said)| (Some(test.clone()), said.clone()));
            let unended = (!program.has_ended).then(|| (None, Vec::new()));
            let name = program.name.clone();
            let failure = move |(test, said)| Failure { program: name.clone(), test, said };
            failed.chain(unended).map(failure).collect::<Vec<_>>()
        };
        self.programs.iter().flat_map(of).collect()
    }
}

/// The test whose output follows: `---- a::b stdout ----`.
fn detailed(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// The output of a test from its panic on, at most [`LINES`] lines.
fn shortened(said: &[String]) -> Vec<String> {
    let panic = said.iter().position(|line| line.contains("panicked at")).unwrap_or(0);
    let lines = said[panic..].iter().take_while(|line| !line.starts_with("stack backtrace:"));
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines.take(LINES).cloned().collect()
}

/// The name of a program that cargo starts: `suite (tests/suite/main.rs)`.
fn begun(line: &str) -> Option<String> {
    // Cargo aligns its status words to the twelfth column; a test's output does not look like that by chance.
    if let Some(package) = line.strip_prefix("   Doc-tests ") {
        return Some(format!("{package} (doc-tests)"));
    }
    let (source, program) =
        line.strip_prefix("     Running ")?.strip_suffix(')')?.rsplit_once(" (")?;
    let file = program.rsplit('/').next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _hash)| name);
    Some(format!("{name} ({})", source.trim_start_matches("unittests ")))
}

/// The count in `ok. 12 passed; 0 failed; …`.
fn passed(result: &str) -> Option<usize> {
    result.split_once(". ")?.1.split_once(" passed")?.0.parse().ok()
}

/// The line without escape sequences.
fn without_color(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Transcript {
        let mut transcript = Transcript::default();
        text.lines().for_each(|line| transcript.read(line));
        transcript
    }

    fn names(found: &Transcript) -> Vec<String> {
        found.failures().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn failures_are_those_of_the_list_and_not_of_the_details() {
        let found = read(
            "     \u{1b}[1m\u{1b}[32mRunning\u{1b}[0m unittests src/lib.rs (target/debug/deps/hookrack-0a1b)\n\
             test a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\nprinted\n\
             thread 'a::c' panicked at a.rs:1\n    indented\n\n\
             failures:\n    a::c\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n   \
             Doc-tests hookrack\n\nfailures:\n    src/lib.rs - x (line 3)\n\n\
             test result: FAILED. 0 passed; 1 failed\n\ntest result: ok. 2 passed; 0 failed\n",
        );
        let wanted =
            ["hookrack (src/lib.rs): a::c", "hookrack (doc-tests): src/lib.rs - x (line 3)"];
        assert_eq!((names(&found), found.passed()), (wanted.map(str::to_owned).to_vec(), 3));
        assert_eq!(found.failures()[0].said, ["thread 'a::c' panicked at a.rs:1", "    indented"]);
    }

    #[test]
    fn a_program_without_a_result_has_failed() {
        let found = read(
            "     Running tests/suite/main.rs (target/debug/deps/suite-77)\ntest a ... \n\
             error: test failed, to rerun pass `--test suite`\n     \
             Running unittests src/main.rs (target/debug/deps/xtask-78)\n\
             test result: ok. 5 passed; 0 failed",
        );
        let wanted =
            "suite (tests/suite/main.rs): the program exited before its tests had finished";
        assert_eq!((names(&found), found.passed()), (vec![wanted.to_owned()], 5));
    }
}
