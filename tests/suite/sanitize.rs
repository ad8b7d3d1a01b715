//! Libraries under valgrind: loaded, called at every point and dropped by the small host of `fixtures/libraries/evolving`, without an error of memory.
//!
//! Two of them here; `cargo xtask sanitize` takes all that can be loaded.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use crate::patience::output;
use crate::workshop::{compile_c, fixtures, repository, rust};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// The variable by which xtask asks for all libraries.
const ALL: &str = "HOOKRACK_SANITIZE";

/// The fixtures that do no harm before and while their hooks are called without a run.
fn libraries(folder: &TempDir) -> Vec<PathBuf> {
    let mut names = vec!["good".to_owned()];
    let mut kept = vec![rust().library("evolving_present")];
    if std::env::var_os(ALL).is_some() {
        let cases = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
        let harmless =
            cases.filter(|case| case.join("run.txt").exists() && case.join("plugin.c").exists());
        names.extend(harmless.map(|case| case.file_name().unwrap().to_str().unwrap().to_owned()));
        let golden = repository().join("tests/fixtures/golden");
        kept.push(golden.join("libgolden.so"));
        kept.push(golden.join("libgolden_c.so"));
    }
    for name in names {
        let file = folder.path().join(format!("lib{name}.so"));
        compile_c(&name, &file, &["-shared", "-pthread", "-g"]);
        kept.push(file);
    }
    kept
}

#[test]
fn libraries_are_loaded_called_and_dropped_without_an_error_of_memory() {
    if !output(Command::new("valgrind").arg("--version")).is_ok_and(|it| it.status.success()) {
        println!("SKIPPED: valgrind not found");
        return;
    }
    let folder = TempDir::new().unwrap();
    let host = rust().host("present");
    let mut wrong = Vec::new();
    for library in libraries(&folder) {
        let mut valgrind = Command::new("valgrind");
        // What a library keeps for the life of the process is not an error; `test-plugin` finds what grows.
        valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=no"]);
        valgrind.arg(host.get_program()).arg(&library);
        let ran = output(&mut valgrind).unwrap();
        if ran.status.code() == Some(99) {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            wrong.push(format!("{}\n{said}", library.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
