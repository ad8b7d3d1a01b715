//! Messages to the user, on stderr: stdout belongs to the program that xtask runs.

use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};

/// A step that begins: `==> building the workspace`.
pub(crate) fn step(what: &str) {
    line(&format!("==> {what}"));
}

/// A fact under the current step.
pub(crate) fn note(what: &str) {
    line(&format!("    {what}"));
}

/// A warning.
pub(crate) fn warning(what: &str) {
    line(&format!("warning: {what}"));
}

/// The error of a command, and its causes, each once.
pub(crate) fn failure(error: &dyn Error) {
    line(&chain(error));
}

/// A line of a program whose output is read on its way to the terminal.
pub(crate) fn passed_on(text: &str) {
    // A closed pipe does not end the command.
    let _ = writeln!(io::stdout(), "{text}");
}

/// Whether the output goes to a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[expect(clippy::print_stderr, reason = "the one place where xtask writes to the terminal")]
fn line(text: &str) {
    eprintln!("{text}");
}

fn chain(error: &dyn Error) -> String {
    let mut lines = vec![format!("error: {error}")];
    let mut cause = error.source();
    while let Some(inner) = cause {
        lines.push(format!("  because: {inner}"));
        cause = inner.source();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::files::During as _;

    #[test]
    fn causes_follow_the_error_on_their_own_lines() {
        let path = Path::new("/nowhere/at/all");
        let error = fs::read(path).during("read", path).unwrap_err();
        let text = chain(&error);
        assert!(text.starts_with("error: could not read /nowhere/at/all\n  because: "), "{text}");
    }
}
