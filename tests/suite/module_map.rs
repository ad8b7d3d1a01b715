//! Which module of the host uses which: the code has no edge beyond this table, and the map in ARCHITECTURE.md is made from it.

use crate::workshop::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A module or crate of the host, and what it uses.
struct Module {
    name: &'static str,
    about: &'static str,
    uses: &'static [&'static str],
}

const fn module(name: &'static str, about: &'static str, uses: &'static [&'static str]) -> Module {
    Module { name, about, uses }
}

/// From the bottom up: a module uses only those above it in this table.
const MODULES: &[Module] = &[
    module("chart", "line charts as SVG; a crate without dependencies", &[]),
    module("torch", "what libtorch offers and `tch` does not expose; a crate", &[]),
    module("engine", "model, loss, optimizer, schedules, data; a crate", &["torch"]),
    module("sdk", "plugin-api and the headers as text; a crate", &[]),
    module("stdio", "printing that never panics", &[]),
    module("installation", "where the program and its plugins are installed", &[]),
    module("first_failure", "the first of several errors is returned, later ones are logged", &[]),
    module("digest", "the sha256 of files and libraries", &[]),
    module("exact", "floats in JSON, to the last bit", &[]),
    module("progress", "phase, epoch, iteration, outcome", &[]),
    module("process_memory", "the memory of this process", &[]),
    module("position", "where the training thread is: iteration, point, hook", &[]),
    module("ranks", "the place of this process among several", &[]),
    module(
        "world",
        "the connection of the ranks of a run: rendezvous, agreement, and detection of missing ranks",
        &["engine", "position", "ranks", "torch"],
    ),
    module("hooks", "the built-in hooks, on plugin-api alone", &["chart"]),
    module("metrics", "the built-in metrics, on plugin-api alone", &[]),
    module("new_plugin", "templates of new plugins", &["sdk"]),
    module("launch", "starts the ranks of a run on this machine", &["ranks", "stdio"]),
    module("config", "the config file: parsing, checking, defaults", &["installation", "ranks"]),
    module("events", "scalars, images and metric values of a run", &["exact"]),
    module(
        "run",
        "the run directory and its checkpoints",
        &["digest", "engine", "events", "progress", "torch"],
    ),
    module(
        "writers",
        "console, metrics.json, TensorBoard",
        &["events", "first_failure", "progress", "run", "stdio"],
    ),
    module("report", "report.html of a run", &["chart", "run", "writers"]),
    module(
        "context",
        "what the loop and its hooks share",
        &["config", "engine", "events", "position", "progress", "run", "torch", "world", "writers"],
    ),
    module(
        "plugins",
        "libraries, live instances, and the services that they call",
        &[
            "config", "context", "digest", "engine", "events", "hooks", "position", "run", "torch",
            "world",
        ],
    ),
    module(
        "dispatch",
        "which hook runs at which point, in which order",
        &["config", "first_failure", "plugins", "progress", "torch", "world"],
    ),
    module(
        "inventory",
        "everything that a config can name",
        &["config", "engine", "hooks", "metrics", "plugins"],
    ),
    module(
        "job",
        "a checked config with its hooks and plan",
        &["config", "dispatch", "hooks", "inventory", "plugins"],
    ),
    module(
        "provenance",
        "program, libraries, config and data of a run",
        &["job", "plugins", "run", "torch"],
    ),
    module(
        "train",
        "the loop",
        &[
            "config",
            "context",
            "dispatch",
            "engine",
            "events",
            "first_failure",
            "hooks",
            "job",
            "plugins",
            "position",
            "process_memory",
            "provenance",
            "ranks",
            "run",
            "torch",
            "world",
            "writers",
        ],
    ),
    module(
        "conformance",
        "the cases of `hookrack test-plugin`",
        &[
            "context",
            "engine",
            "hooks",
            "job",
            "plugins",
            "process_memory",
            "run",
            "torch",
            "train",
            "writers",
        ],
    ),
    module(
        "cli",
        "commands, exit codes, messages",
        &[
            "chart",
            "config",
            "conformance",
            "dispatch",
            "engine",
            "events",
            "first_failure",
            "hooks",
            "installation",
            "inventory",
            "job",
            "launch",
            "metrics",
            "new_plugin",
            "plugins",
            "provenance",
            "ranks",
            "report",
            "run",
            "sdk",
            "stdio",
            "torch",
            "train",
            "world",
            "writers",
        ],
    ),
];

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
fn named(text: &str, known: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
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
        found.extend(names.split(',').filter_map(|name| known.get(name.trim())));
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

fn used_by(module: &Module, known: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let host = repository().join("host");
    // Within a crate of its own `crate::` names its own modules.
    let own_crate = CRATES.contains(&module.name);
    let path = if own_crate {
        host.join(module.name).join("src")
    } else {
        let folder = host.join("src").join(module.name);
        if folder.is_dir() { folder } else { folder.with_extension("rs") }
    };
    let mut files = Vec::new();
    rust_files(&path, &mut files);
    let text = |file: &std::path::PathBuf| {
        let text = code(file);
        if own_crate { text.replace("crate::", "") } else { text }
    };
    let mut found: BTreeSet<_> = files.iter().flat_map(|file| named(&text(file), known)).collect();
    found.remove(module.name);
    found
}

#[test]
fn every_module_uses_only_what_the_map_says_and_the_map_has_no_cycle() {
    let known: BTreeSet<_> = MODULES.iter().map(|module| module.name).collect();
    let mut below = BTreeSet::new();
    let mut wrong = Vec::new();
    for module in MODULES {
        let (mapped, found) = (module.uses.iter().copied().collect(), used_by(module, &known));
        let name = module.name;
        wrong.extend(
            found
                .difference(&mapped)
                .map(|used| format!("{name} uses {used}, which the map does not have")),
        );
        wrong.extend(
            mapped
                .difference(&found)
                .map(|used| format!("{name} does not use {used}, which the map has")),
        );
        wrong.extend(
            mapped
                .difference(&below)
                .map(|used| format!("{name} uses {used}, which is not below it")),
        );
        below.insert(name);
    }
    assert!(wrong.is_empty(), "tests/suite/module_map.rs has the map:\n{}", wrong.join("\n"));
}

#[test]
fn the_map_has_every_module_of_the_host() {
    let known: BTreeSet<_> = MODULES.iter().map(|module| module.name).collect();
    let lib = fs::read_to_string(repository().join("host/src/lib.rs")).unwrap();
    let declared = lib.split("#[cfg(test)]\nmod metric_parity;").collect::<String>();
    let declared = declared.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    let missing: Vec<_> = declared.filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "not in the map: {missing:?}");
}

#[test]
fn the_map_in_the_architecture_is_made_from_the_table() {
    let row = |module: &Module| {
        let uses = if module.uses.is_empty() { "—".to_owned() } else { module.uses.join(", ") };
        format!("| `{}` | {} | {uses} |\n", module.name, module.about)
    };
    let rows: String = MODULES.iter().map(row).collect();
    let made = format!("| module | what it is | uses |\n|---|---|---|\n{rows}");
    let (begin, end) = (
        "<!-- module map: made by tests/suite/module_map.rs -->\n",
        "<!-- end of the module map -->",
    );
    let page = repository().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(begin).unwrap();
    let (kept, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&page, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(kept, made, "ARCHITECTURE.md is not fresh: run this test with UPDATE_EXPECT=1");
}
