//! A new plugin is really built, and its names and refusals are as promised.

use super::{ApiSource, Lang, Names, NewPluginError, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A plugin's tree of crates stays small: this is what every author compiles.
const MOST_CRATES: usize = 35;

/// The root of the source tree that is being tested.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn api() -> ApiSource {
    ApiSource::of_host(&root().join("host"), "https://example.org/unused")
}

/// Runs a command and gives its output; fails with all that it said.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed:\n{out}{err}");
    out.into_owned()
}

/// Cargo in a new plugin's folder, with the crates and versions that the workspace has already.
fn cargo(dir: &Path) -> Command {
    std::fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // Shared by all runs of this test: the dependencies are compiled once.
    cargo
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", root().join("target/new-plugin"))
        .arg("--offline");
    cargo
}

fn exports_its_entry(library: &Path) -> bool {
    output(Command::new("nm").arg("-D").arg(library)).contains(" T hookrack_plugin")
}

fn refusal(name: &str) -> String {
    Names::new(name).unwrap_err().to_string()
}

#[test]
fn a_new_rust_plugin_builds_and_passes_its_test_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let written = write("loss-logger", Lang::Rust, dir.path(), &api()).unwrap();
    assert!(written.contains(&dir.path().join("src/lib.rs")));
    output(cargo(dir.path()).args(["test", "--quiet"]));
    output(cargo(dir.path()).args(["build", "--quiet"]));
    let library = root().join("target/new-plugin/debug/libloss_logger.so");
    assert!(exports_its_entry(&library));
}

#[test]
fn a_new_rust_plugin_has_few_dependencies() {
    let dir = tempfile::tempdir().unwrap();
    write("few", Lang::Rust, dir.path(), &api()).unwrap();
    let tree = output(cargo(dir.path()).args([
        "tree",
        "-e",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
    ]));
    let crates: std::collections::BTreeSet<_> =
        tree.lines().filter_map(|line| line.split(" (").next()).collect();
    assert!(crates.len() <= MOST_CRATES, "{} crates: {crates:?}", crates.len());
}

#[test]
fn a_new_c_plugin_builds_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    write("loss-logger", Lang::C, dir.path(), &api()).unwrap();
    output(
        Command::new("make")
            .current_dir(dir.path())
            .arg("CFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror"),
    );
    assert!(exports_its_entry(&dir.path().join("libloss_logger.so")));
}

#[test]
fn nothing_is_left_to_fill_in() {
    for lang in [Lang::Rust, Lang::C] {
        let dir = tempfile::tempdir().unwrap();
        for path in write("loss-logger", lang, dir.path(), &api()).unwrap() {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("{{"), "{} has a place left", path.display());
        }
    }
}

#[test]
fn names_follow_from_the_one_that_was_typed() {
    let names = Names::new("loss-logger_2").unwrap();
    assert_eq!((names.krate.as_str(), names.library.as_str()), ("loss-logger_2", "loss_logger_2"));
    assert_eq!(names.hook, "LossLogger2Hook");
    assert_eq!(Names::new("my-hook").unwrap().hook, "MyHook");
}

#[test]
fn a_name_that_is_no_library_is_refused_with_the_reason() {
    assert_eq!(refusal(""), "`` cannot name a plugin: it is empty");
    assert_eq!(refusal("match"), "`match` cannot name a plugin: the word is taken");
    assert_eq!(
        refusal("hookrack-plugin-api"),
        "`hookrack-plugin-api` cannot name a plugin: the word is taken"
    );
    assert_eq!(refusal("2fast"), "`2fast` cannot name a plugin: it must begin with a letter");
    for name in ["My", "a b", "../up", "größe", "a\"b"] {
        assert!(refusal(name).contains("use lowercase letters, digits, `-` and `_`"), "{name}");
    }
    assert!(refusal(&"a".repeat(65)).contains("longer than 64"));
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    std::fs::write(&kept, "mine").unwrap();
    let error = write("x", Lang::Rust, dir.path(), &api()).unwrap_err();
    assert!(matches!(error, NewPluginError::NotEmpty { .. }), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let error = write("x", Lang::Rust, &kept, &api()).unwrap_err();
    assert!(matches!(error, NewPluginError::Write { .. }), "{error}");
}

#[test]
fn the_dependency_points_to_the_source_tree_or_to_the_repository() {
    assert!(matches!(api(), ApiSource::Path(_)));
    let elsewhere = ApiSource::of_host(Path::new("/nowhere/host"), "https://example.org/hookrack");
    assert_eq!(elsewhere.dependency().unwrap(), "{ git = \"https://example.org/hookrack\" }");
    assert_eq!(ApiSource::Version("1.0".into()).dependency().unwrap(), "\"1.0\"");
    let quoted = ApiSource::Path("/a \"b\"\\c".into());
    assert_eq!(quoted.dependency().unwrap(), r#"{ path = "/a \"b\"\\c" }"#);
}
