//! What `cargo test` said, read line by line: which test programs ran, and which tests of them failed.

/// The test programs of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    programs: Vec<Program>,
    // The names of a list of failures; the details before it are headed by the same word.
    listed: Option<Vec<String>>,
}

#[derive(Debug)]
struct Program {
    name: String,
    passed: usize,
    failed: Vec<String>,
    has_ended: bool,
}

impl Transcript {
    /// Takes the next line.
    pub(crate) fn read(&mut self, line: &str) {
        let line = &without_color(line);
        if let Some(name) = begun(line) {
            self.listed = None;
            self.programs.push(Program { name, passed: 0, failed: Vec::new(), has_ended: false });
        } else if line == "failures:" {
            self.listed = Some(Vec::new());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.end(result);
        } else if let (Some(listed), Some(name)) = (&mut self.listed, line.strip_prefix("    ")) {
            listed.push(name.trim().to_owned());
        }
    }

    fn end(&mut self, result: &str) {
        let listed = self.listed.take().unwrap_or_default();
        let Some(program) = self.programs.last_mut() else { return };
        program.has_ended = true;
        program.passed += passed(result).unwrap_or(0);
        if result.starts_with("FAILED") {
            program.failed.extend(listed);
        }
    }

    /// How many tests passed.
    pub(crate) fn passed(&self) -> usize {
        self.programs.iter().map(|program| program.passed).sum()
    }

    /// Every failure: the program and the test.
    pub(crate) fn failures(&self) -> Vec<String> {
        let of = |program: &Program| {
            let unended =
                (!program.has_ended).then(|| "the program ended before its tests did".to_owned());
            let failed = program.failed.iter().cloned().chain(unended);
            failed.map(|test| format!("{}: {test}", program.name)).collect::<Vec<_>>()
        };
        self.programs.iter().flat_map(of).collect()
    }
}

/// The name of a program that cargo starts: `suite (tests/suite/main.rs)`.
fn begun(line: &str) -> Option<String> {
    // Cargo's words end at the twelfth column; a test's own do not begin so by chance.
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

/// The line without what colours it on a terminal.
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

    #[test]
    fn failures_are_those_of_the_list_and_not_of_the_details() {
        let found = read(
            "     \u{1b}[1m\u{1b}[32mRunning\u{1b}[0m unittests src/lib.rs (target/debug/deps/hookrack-0a1b)\n\
             test a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\n    indented\n\n\
             failures:\n    a::c\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n   \
             Doc-tests hookrack\n\nfailures:\n    src/lib.rs - x (line 3)\n\n\
             test result: FAILED. 0 passed; 1 failed\n\ntest result: ok. 2 passed; 0 failed\n",
        );
        let wanted =
            ["hookrack (src/lib.rs): a::c", "hookrack (doc-tests): src/lib.rs - x (line 3)"];
        assert_eq!((found.failures(), found.passed()), (wanted.map(str::to_owned).to_vec(), 3));
    }

    #[test]
    fn a_program_without_a_result_has_failed() {
        let found = read(
            "     Running tests/suite/main.rs (target/debug/deps/suite-77)\ntest a ... \n\
             error: test failed, to rerun pass `--test suite`\n     \
             Running unittests src/main.rs (target/debug/deps/xtask-78)\n\
             test result: ok. 5 passed; 0 failed",
        );
        let wanted = "suite (tests/suite/main.rs): the program ended before its tests did";
        assert_eq!((found.failures(), found.passed()), (vec![wanted.to_owned()], 5));
    }
}
