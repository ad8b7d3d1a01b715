//! Which module of the host uses which: the code has no edge beyond the map in ARCHITECTURE.md.

use crate::workshop::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A module or crate of the host, and what it uses.
struct Module {
    name: String,
    uses: BTreeSet<String>,
}

/// The map in ARCHITECTURE.md. From the bottom up: a module uses only those above it in the table.
fn modules() -> Vec<Module> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = text.split_once("<!-- module map: ").unwrap();
    let (map, _) = rest.split_once("<!-- end of the module map -->").unwrap();
    let rows = map.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let module = |row: &str| {
        let [name, _, uses] = row.split(" | ").collect::<Vec<_>>()[..] else { panic!("{row}") };
        let uses = uses.split(", ").filter(|name| *name != "—").map(str::to_owned).collect();
        Module { name: name.trim_end_matches('`').to_owned(), uses }
    };
    rows.map(module).collect()
}

fn names(modules: &[Module]) -> BTreeSet<String> {
    modules.iter().map(|module| module.name.clone()).collect()
}

/// The modules that are crates of their own.
const CRATES: [&str; 4] = ["chart", "torch", "engine", "sdk"];

/// The code of a file without comments and tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn rust_files(path: &Path, files: &mut Vec<std::path::PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        // `curve_parity.rs`, `tests.rs` and `tests/`: compiled for tests alone.
        let is_test = stem.ends_with("tests") || stem.ends_with("_parity");
        if !is_test && (path.is_dir() || path.extension() == Some("rs".as_ref())) {
            rust_files(&path, files);
        }
    }
}

/// The names after `crate::` and those of the crates in `text`, also within `use crate::{…}`.
fn named(text: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let crates = CRATES.map(|name| format!("hookrack_{name}"));
    let marks = crates.iter().map(String::as_str).chain(["crate::"]);
    for (start, length) in
        marks.flat_map(|mark| text.match_indices(mark).map(|(at, mark)| (at, mark.len())))
    {
        let rest = &text[start + length..];
        let list = rest.strip_prefix('{').map_or_else(
            || rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned(),
            top_level,
        );
        let mark = &text[start..start + length];
        let names = if mark == "crate::" { list } else { mark.replace("hookrack_", "") };
        found.extend(names.split(',').filter_map(|name| known.get(name.trim()).cloned()));
    }
    found
}

/// The names of a braced list, without nested braces.
fn top_level(list: &str) -> String {
    let (mut depth, mut names, mut name) = (0, Vec::new(), String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut name)),
            c if depth == 0 => name.push(c),
            _ => {}
        }
    }
    names.push(name);
    let first = |name: &String| name.trim().split("::").next().unwrap().to_owned();
    names.iter().map(first).collect::<Vec<_>>().join(",")
}

fn used_by(module: &Module, known: &BTreeSet<String>) -> BTreeSet<String> {
    let host = repository().join("host");
    // Within a crate of its own `crate::` names its own modules.
    let own_crate = CRATES.contains(&module.name.as_str());
    let path = if own_crate {
        host.join(&module.name).join("src")
    } else {
        let folder = host.join("src").join(&module.name);
        if folder.is_dir() { folder } else { folder.with_extension("rs") }
    };
    let mut files = Vec::new();
    rust_files(&path, &mut files);
    let text = |file: &std::path::PathBuf| {
        let text = code(file);
        if own_crate { text.replace("crate::", "") } else { text }
    };
    let mut found: BTreeSet<_> = files.iter().flat_map(|file| named(&text(file), known)).collect();
    found.remove(&module.name);
    found
}

#[test]
fn every_module_uses_only_what_the_map_says_and_the_map_has_no_cycle() {
    let modules = modules();
    let known = names(&modules);
    let (mut above, mut wrong) = (BTreeSet::new(), Vec::new());
    for module in &modules {
        let (mapped, found) = (&module.uses, used_by(module, &known));
        for (users, others, why) in [
            (&found, mapped, "which the map does not have"),
            (mapped, &found, "which the map has and the code has not"),
            (mapped, &above, "which is not above it"),
        ] {
            let pairs = users.difference(others);
            wrong.extend(pairs.map(|used| format!("{} uses {used}, {why}", module.name)));
        }
        above.insert(module.name.clone());
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md has the map:\n{}", wrong.join("\n"));
}

#[test]
fn the_map_has_every_module_of_the_host() {
    let known = names(&modules());
    let lib = fs::read_to_string(repository().join("host/src/lib.rs")).unwrap();
    let declared = lib.split("#[cfg(test)]\nmod metric_parity;").collect::<String>();
    let declared = declared.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    let missing: Vec<_> = declared.filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "not in the map: {missing:?}");
}
