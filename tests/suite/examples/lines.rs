//! The lines of each example beside those of its Lightning version.

use crate::workshop::repository;
use std::path::Path;

/// Lines of code of a file: no blank ones, comments, docs or tests.
fn code_lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    let counts = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("# ")
    };
    code.lines().filter(counts).count()
}

#[test]
fn the_lines_of_each_example_are_counted_beside_lightning_s() {
    let folder = repository().join("examples/plugins");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let rust = code_lines(&entry.path().join("src/lib.rs"));
            let python = code_lines(&entry.path().join("lightning.py"));
            let row = format!("| `{name}` | {rust} | {python} |");
            assert!(readme.contains(&row), "README.md lacks {row}");
        }
    }
}
