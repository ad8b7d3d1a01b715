//! The C and C++ compilers: which ones, and a clear error if there is none.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::process;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CompilerError {
    #[error(
        "no {language} compiler found: `{program}` is not on PATH; install one (Debian, Ubuntu: \
         `apt install build-essential`; Fedora: `dnf install gcc-c++`) or set {variable} to yours"
    )]
    Missing { language: &'static str, program: String, variable: &'static str },
}

/// The C compiler as a command: `$CC`, which may carry arguments (`ccache gcc`), else `cc`.
pub(crate) fn c() -> Result<Command, CompilerError> {
    find("C", "CC", "cc")
}

/// Libtorch's bindings need a C++ compiler too; finding out before cargo starts saves minutes.
pub(crate) fn require_both() -> Result<(), CompilerError> {
    c()?;
    find("C++", "CXX", "c++")?;
    Ok(())
}

fn find(
    language: &'static str,
    variable: &'static str,
    default: &str,
) -> Result<Command, CompilerError> {
    let set = env::var(variable).unwrap_or_default();
    let mut words = set.split_whitespace();
    let program = words.next().unwrap_or(default);
    if on_path(program).is_none() {
        return Err(CompilerError::Missing { language, program: program.to_owned(), variable });
    }
    let mut command = process::command(program);
    command.args(words);
    Ok(command)
}

/// Finds a program as a shell does: a name with a slash is a path, any other is looked up in PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| program.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_path_and_by_path() {
        assert!(on_path("sh").is_some());
        assert!(on_path("/bin/sh").is_some());
        assert!(on_path("no-such-program-here").is_none());
        assert!(on_path("/no/such/program").is_none());
    }

    #[test]
    fn a_missing_compiler_says_what_to_install_and_what_to_set() {
        let error = find("C", "HOOKRACK_TEST_UNSET", "no-such-compiler").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`no-such-compiler` is not on PATH"), "{text}");
        assert!(text.contains("apt install build-essential"), "{text}");
    }
}
