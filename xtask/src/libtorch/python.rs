//! Finds Python and runs the small scripts beside this file.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::LibtorchError;
use crate::{
    compiler::on_path,
    process::{self, ProcessError},
};

const PROGRAM: &str = "python3";

pub(crate) fn is_there() -> bool {
    on_path(PROGRAM).is_some()
}

/// Both are needed to assemble a libtorch; checked before half a gigabyte is downloaded.
pub(crate) fn require_with_pip() -> Result<(), LibtorchError> {
    if !is_there() {
        return Err(LibtorchError::NoPython);
    }
    process::output(&mut pip(&["--version"])).map_err(|source| LibtorchError::NoPip { source })?;
    Ok(())
}

pub(crate) fn pip(args: &[&str]) -> Command {
    let mut command = process::command(PROGRAM);
    command.args(["-m", "pip"]).args(args);
    command
}

/// Starts a script with its stdout and stderr piped. Runs in `folder`, which is also the first place where
/// Python looks for modules: it must not contain a stray `pip.py`.
pub(crate) fn start<A: AsRef<OsStr>>(
    script: &str,
    args: &[A],
    folder: &Path,
) -> Result<(Command, Child), ProcessError> {
    let mut command = process::command(PROGRAM);
    command.arg("-").args(args).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| process::not_started(&command, source))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin
            .write_all(script.as_bytes())
            .map_err(|source| process::not_started(&command, source))?;
    }
    Ok((command, child))
}

/// Runs a script to its end and returns what it wrote to stdout.
pub(crate) fn output<A: AsRef<OsStr>>(
    script: &str,
    args: &[A],
    folder: &Path,
) -> Result<String, ProcessError> {
    let (command, child) = start(script, args, folder)?;
    let output =
        child.wait_with_output().map_err(|source| process::not_started(&command, source))?;
    process::ended_well(&command, output.status, &String::from_utf8_lossy(&output.stderr))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_gets_its_arguments_and_its_failure_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let said = output("import sys; print(sys.argv[1:])", &["a", "b c"], folder.path()).unwrap();
        assert_eq!(said, "['a', 'b c']\n");
        let error = output("import sys; sys.exit('no')", &["x"], folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "`python3 - x` ended with exit code 1:\nno");
    }
}
