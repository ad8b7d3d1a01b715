//! The source tree keeps its own rules.

use crate::workshop::repository;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::EXTENSIONS;
use std::fs;
use std::path::{Path, PathBuf};

/// The longest a source file may be; tests and tables aside.
const MOST_LINES: usize = 400;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["base", "utils", "common", "helpers", "types", "misc"];

/// Every source file of the repository, relative to its top.
fn sources() -> Vec<PathBuf> {
    let root = repository();
    let mut files = Vec::new();
    let mut folders: Vec<_> =
        ["bench", "examples", "fuzz", "host", "plugin-api", "plugins", "scripts", "tests", "xtask"]
            .iter()
            .map(|name| root.join(name))
            .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| {
                ["rs", "c", "cpp", "h", "hpp", "py"].iter().any(|known| extension == *known)
            }) {
                files.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    assert!(files.len() > 150, "{} files", files.len());
    files.sort();
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(repository().join(file)).unwrap()
}

fn is_rust(file: &Path) -> bool {
    file.extension() == Some("rs".as_ref())
}

fn is_test_or_generated(file: &Path) -> bool {
    let generated = file.ends_with("include/hookrack.h");
    generated || file.components().any(|part| part.as_os_str() == "tests")
}

fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn tests_wait_for_other_programs_with_patience_that_ends() {
    let suite = |file: &PathBuf| file.starts_with("tests/suite") && !file.ends_with("patience.rs");
    // Put together, so that this file does not match.
    let endless = ["output", "status", "wait_with_output"].map(|call| format!(".{call}()"));
    let mut found = Vec::new();
    for file in sources().into_iter().filter(suite) {
        let text = read(&file);
        let lines = text.lines().filter(|line| endless.iter().any(|call| line.contains(call)));
        found.extend(lines.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    none(&found, "a program that hangs must not hang the tests: use `patience::output`");
}

#[test]
fn no_source_file_is_longer_than_a_reader_bears() {
    let files = sources().into_iter().filter(|file| !is_test_or_generated(file));
    let long = files.filter_map(|file| {
        let lines = read(&file).lines().count();
        (lines > MOST_LINES).then(|| format!("{} has {lines}", file.display()))
    });
    none(&long.collect::<Vec<_>>(), &format!("files of more than {MOST_LINES} lines"));
}

#[test]
fn no_file_or_folder_has_a_name_that_says_nothing() {
    // The stubs have the names of Gloo's own headers.
    let own = sources().into_iter().filter(|file| !file.iter().any(|part| part == "gloo-stub"));
    let empty = own.filter(|file| {
        file.iter().any(|part| {
            EMPTY_NAMES.contains(&Path::new(part).file_stem().unwrap().to_str().unwrap())
        })
    });
    none(
        &empty.map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "names that say nothing",
    );
}

#[test]
fn hooks_and_metrics_leave_files_to_the_run_directory() {
    let own =
        |file: &PathBuf| file.starts_with("host/src/hooks") || file.starts_with("host/src/metrics");
    let writes = [
        "fs::write(",
        "fs::rename(",
        "fs::copy(",
        "fs::hard_link(",
        "fs::create_dir",
        "fs::remove_",
        "fs::set_permissions(",
        "symlink(",
        "File::create",
        "File::options(",
        "OpenOptions",
        "sync_all(",
    ];
    let mut found = Vec::new();
    for file in sources().into_iter().filter(own) {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap().lines();
        // Writes to the kernel's files are not files of the run.
        let lines = code.filter(|line| writes.iter().any(|call| line.contains(call)));
        let lines = lines.filter(|line| !line.contains("\"/proc/"));
        found.extend(lines.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    none(&found, "use a service of `Trainer`, such as the atomic `write_file`");
}

#[test]
fn every_rust_file_opens_with_what_it_is_for() {
    let silent =
        sources().into_iter().filter(|file| is_rust(file) && !read(file).starts_with("//!"));
    none(
        &silent.map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "files that do not open with `//!`",
    );
}

#[test]
fn no_test_is_ignored_or_expects_any_panic() {
    let skipped = sources().into_iter().filter(|file| {
        let text = read(file);
        let is_here = file.ends_with("suite/tidy.rs");
        is_rust(file)
            && !is_here
            && ["#[ignore", "#[should_panic"].iter().any(|mark| text.contains(mark))
    });
    none(
        &skipped.map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "tests that prove nothing",
    );
}

#[test]
fn unsafe_code_is_where_the_boundary_is() {
    let allowed = ["plugin-api/src/abi", "host/src/plugins", "host/torch/src"];
    let outside = sources().into_iter().filter(|file| {
        let text = read(file);
        let code = text.split("#[cfg(test)]").next().unwrap().lines();
        let opens = code.map(str::trim_start).any(|line| {
            !line.starts_with("//")
                && ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                    .iter()
                    .any(|mark| line.contains(mark))
        });
        let is_source = file.starts_with("host/src")
            || file.starts_with("plugin-api/src")
            || file.starts_with("plugins");
        is_rust(file)
            && is_source
            && opens
            && !allowed.iter().any(|folder| file.starts_with(folder))
    });
    none(
        &outside.map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "unsafe code outside of the boundary",
    );
}

/// One macro makes points and methods of the same list, so that each point has its method. Roles have a section of
/// their own in the guide, the other points a table.
#[test]
fn every_point_has_a_place_in_the_guide() {
    let guide = fs::read_to_string(repository().join("docs/plugin-guide.md")).unwrap();
    let rows: Vec<_> = guide.lines().filter(|line| line.starts_with('|')).collect();
    let missing = Point::ALL.iter().filter(|point| {
        let name = format!("`{point}`");
        // `before_val` … `after_val` is a row for all that lies between.
        let between = point.name().replace("_epoch", "").replace("_iter", "");
        let phase = ["val", "test", "pred", "eval"].iter().any(|phase| between.ends_with(phase));
        let pattern = format!("`{between}`");
        let in_text = point.is_role() && guide.contains(&name);
        !in_text
            && !rows.iter().any(|row| {
                row.contains(&name) || (phase && row.contains('…') && row.contains(&pattern))
            })
    });
    let missing: Vec<_> = missing.map(|point| point.name().to_owned()).collect();
    none(&missing, "points without a place in docs/plugin-guide.md");
}

#[test]
fn the_recorder_implements_every_point() {
    let source = read(Path::new("tests/fixtures/plugins/recorder/src/lib.rs"));
    let words: Vec<_> = source.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let missing: Vec<_> = Point::ALL
        .iter()
        .map(|point| point.name().to_owned())
        .filter(|name| !words.contains(&name.as_str()))
        .collect();
    none(&missing, "points that the recorder does not have");
}

#[test]
fn the_abi_document_lists_every_extension() {
    let document = read(Path::new("docs/abi.md"));
    let missing: Vec<_> = EXTENSIONS
        .iter()
        .filter(|extension| {
            let row = format!("| `{}` | host | the extension `{}`", extension.table, extension.id);
            !document.contains(&row)
        })
        .map(|extension| extension.id.to_owned())
        .collect();
    none(&missing, "docs/abi.md has no row for");
}
