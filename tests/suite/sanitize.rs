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

/// Libraries whose hooks use tensors or scalars, which the small host does not have: they are loaded, described and not called.
const ONLY_LOADED: [&str; 4] =
    ["libgolden.so", "libgolden_1_1.so", "libgolden_c.so", "libleaks.so"];

/// The fixtures that do no harm while they are loaded and while their hooks are called without a run: good ones, those that a run or the
/// loader complains about, the golden ones.
fn libraries(folder: &TempDir) -> Vec<PathBuf> {
    let mut names = vec!["good".to_owned()];
    let mut kept = vec![rust().library("evolving_present")];
    if std::env::var_os(ALL).is_some() {
        let cases = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
        let has = |case: &PathBuf, files: [&str; 2]| files.iter().any(|it| case.join(it).exists());
        let harmless = cases.filter(|case| {
            has(case, ["run.txt", "message.txt"]) && has(case, ["plugin.c", "plugin.cpp"])
        });
        names.extend(harmless.map(|case| case.file_name().unwrap().to_str().unwrap().to_owned()));
        kept.extend(["panic_abort", "panic_in_root"].map(|name| rust().library(name)));
        let golden = fs::read_dir(repository().join("tests/fixtures/golden")).unwrap();
        let golden = golden.map(|entry| entry.unwrap().path());
        kept.extend(golden.filter(|path| path.extension() == Some("so".as_ref())));
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
        assert!(std::env::var_os(ALL).is_none(), "valgrind not found: install it");
        println!("SKIPPED: valgrind not found");
        return;
    }
    let folder = TempDir::new().unwrap();
    let host = rust().host("present");
    let mut wrong = Vec::new();
    let libraries = libraries(&folder);
    for library in &libraries {
        let mut valgrind = Command::new("valgrind");
        // What a library keeps for the life of the process is not an error; `test-plugin` finds what grows.
        valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=no"]);
        valgrind.arg(host.get_program()).arg(library);
        if ONLY_LOADED.iter().any(|name| library.ends_with(name)) {
            valgrind.env("HOOKRACK_ONLY_LOAD", "1");
        }
        let ran = output(&mut valgrind).unwrap();
        // 99 after an error of memory; a signal or a panic of the host is no better.
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            wrong.push(format!("{}: {}\n{said}", library.display(), ran.status));
        }
    }
    println!("{} libraries under valgrind, {} with errors", libraries.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
