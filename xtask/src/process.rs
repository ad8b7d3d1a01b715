//! Child processes, with errors that name the command line and how it ended.

use std::{
    env,
    ffi::OsStr,
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Command, ExitStatus, Stdio},
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("could not start `{command}`; is `{program}` installed and on PATH?")]
    Start { command: String, program: String, source: io::Error },
    #[error("`{command}` {ending}{said}")]
    Exit { command: String, ending: String, said: String },
}

/// A command without the variables that `cargo run` sets for xtask itself: a build script that looks at
/// one of them would otherwise run again needlessly.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(belongs_to_xtask) {
            command.env_remove(name);
        }
    }
    command
}

/// The cargo that started xtask.
pub(crate) fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end with the terminal passed through.
pub(crate) fn run(command: &mut Command) -> Result<(), ProcessError> {
    let status = command.status().map_err(|source| not_started(command, source))?;
    ended_well(command, status, "")
}

/// Runs to the end and returns what it wrote to stdout; stderr becomes part of the error.
pub(crate) fn output(command: &mut Command) -> Result<String, ProcessError> {
    command.stdin(Stdio::null());
    let output = command.output().map_err(|source| not_started(command, source))?;
    ended_well(command, output.status, &String::from_utf8_lossy(&output.stderr))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Replaces this process by the command, so that exit code and signals are those of the command. Returns only on failure.
pub(crate) fn replace_self(command: &mut Command) -> ProcessError {
    let source = command.exec();
    not_started(command, source)
}

/// The error for a command that could not be started.
pub(crate) fn not_started(command: &Command, source: io::Error) -> ProcessError {
    let program = short_name(command.get_program());
    ProcessError::Start { command: line(command), program, source }
}

/// The error for a command that failed.
pub(crate) fn ended_well(
    command: &Command,
    status: ExitStatus,
    said: &str,
) -> Result<(), ProcessError> {
    if status.success() {
        return Ok(());
    }
    let said = said.trim();
    let said = if said.is_empty() { String::new() } else { format!(":\n{said}") };
    Err(ProcessError::Exit { command: line(command), ending: ending(status), said })
}

/// The command line.
pub(crate) fn line(command: &Command) -> String {
    let mut words = vec![short_name(command.get_program())];
    words.extend(command.get_args().map(|arg| quoted(&arg.to_string_lossy())));
    words.join(" ")
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended for an unknown reason".to_owned(),
    }
}

/// Shortens the toolchain's path in CARGO to `cargo`.
fn short_name(program: &OsStr) -> String {
    let text = program.to_string_lossy();
    match text.rsplit_once('/') {
        Some((_, "cargo")) => "cargo".to_owned(),
        _ => text.into_owned(),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%$".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn belongs_to_xtask(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME", "CARGO_CRATE_NAME"]
            .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_with_its_exit_code_and_output() {
        let error =
            output(command("sh").args(["-c", "echo no such disk >&2; exit 7"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh -c 'echo no such disk >&2; exit 7'` ended with exit code 7:\nno such disk"
        );
    }

    #[test]
    fn a_command_killed_by_a_signal_is_reported_with_the_signal() {
        let error = run(command("sh").args(["-c", "kill -9 $$"])).unwrap_err();
        assert!(error.to_string().ends_with("was killed by signal 9"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut command("no-such-program-here")).unwrap_err();
        assert!(error.to_string().contains("is `no-such-program-here` installed"), "{error}");
    }

    #[test]
    fn variables_that_cargo_set_for_xtask_are_not_passed_on() {
        assert!(belongs_to_xtask("CARGO_PKG_NAME"));
        assert!(belongs_to_xtask("CARGO_MANIFEST_DIR"));
        assert!(!belongs_to_xtask("CARGO_TARGET_DIR"));
        assert!(!belongs_to_xtask("CARGO_HOME"));
    }
}
