//! `numeric.txt` has every test of the suite that compares numbers: those that `cargo xtask test --cpus` runs, and those whose numbers no
//! CPU has a part in.

use crate::workshop::repository;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What a test that compares numbers has in it, or something that it uses.
const MARKS: [&str; 4] = ["1e-", ".abs()", "to_bits", "assert_same("];

/// A function or a constant of the suite.
struct Item {
    /// The modules of its file: `hooks::steering`.
    module: String,
    name: String,
    /// How it is used: a function by a call, a constant by its name.
    used: String,
    is_test: bool,
    text: String,
}

impl Item {
    fn full_name(&self) -> String {
        format!("{}::{}", self.module, self.name)
    }

    /// The file, or the folder that the file is in: where the things are that it may use.
    fn family(&self) -> &str {
        self.module.split("::").next().unwrap_or_default()
    }

    fn has_a_mark(&self) -> bool {
        MARKS.iter().any(|mark| self.text.contains(mark))
    }

    fn uses(&self, other: &Self) -> bool {
        let is_part_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole = |(at, _): (usize, &str)| {
            let (before, after) = (&self.text[..at], &self.text[at + other.used.len()..]);
            let open = other.used.ends_with('(');
            !before.ends_with(is_part_of_a_word) && (open || !after.starts_with(is_part_of_a_word))
        };
        self.family() == other.family() && self.text.match_indices(&other.used).any(is_whole)
    }
}

/// Name and use of the item that a line begins, and what ends it in rustfmt's layout.
fn begun(line: &str) -> Option<(String, String, String)> {
    let code = line.trim_start();
    let indent = &line[..line.len() - code.len()];
    let code = code.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
    if let Some(rest) = code.strip_prefix("fn ") {
        let name = rest.split(['(', '<']).next()?.to_owned();
        return Some((name.clone(), format!("{name}("), format!("{indent}}}")));
    }
    let name = code.strip_prefix("const ")?.split(':').next()?.to_owned();
    Some((name.clone(), name, ";".to_owned()))
}

fn items(module: &str, text: &str) -> Vec<Item> {
    let lines: Vec<_> = text.lines().collect();
    let item = |(at, line): (usize, &&str)| {
        let (name, used, end) = begun(line)?;
        let is_last = |line: &str| if end == ";" { line.ends_with(';') } else { line == end };
        let length = lines[at..].iter().position(|line| is_last(line))?;
        let text = lines[at..=at + length].join("\n");
        let is_attribute = |line: &&&str| line.trim_start().starts_with("#[");
        let mut attributes = lines[..at].iter().rev().take_while(is_attribute);
        let is_test = attributes.any(|line| line.trim() == "#[test]");
        Some(Item { module: module.to_owned(), name, used, is_test, text })
    };
    lines.iter().enumerate().filter_map(item).collect()
}

/// Everything of the suite but this file and the one about sources, which speak of such marks.
fn all_items(folder: &Path, module: &str) -> Vec<Item> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let inner = match (module, stem) {
            ("", stem) => stem.to_owned(),
            (module, "mod") => module.to_owned(),
            (module, stem) => format!("{module}::{stem}"),
        };
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() {
            all.extend(all_items(&path, &inner));
        } else if is_source && !["numeric", "tidy"].contains(&inner.as_str()) {
            all.extend(items(&inner, &fs::read_to_string(&path).unwrap()));
        }
    }
    all
}

/// The names of all tests that compare numbers, themselves or by what they use.
fn numeric(all: &[Item]) -> BTreeSet<String> {
    let mut found: Vec<&Item> = all.iter().filter(|one| one.has_a_mark()).collect();
    let mut next = 0;
    while let Some(used) = found.get(next).copied() {
        next += 1;
        let users = all.iter().filter(|one| !used.is_test && one.uses(used));
        let is_new = |one: &&Item| !found.iter().any(|old| std::ptr::eq(*old, *one));
        let new: Vec<_> = users.filter(is_new).collect();
        found.extend(new);
    }
    found.into_iter().filter(|one| one.is_test).map(Item::full_name).collect()
}

fn none<'a>(names: impl Iterator<Item = &'a String>, rule: &str) {
    let names: Vec<_> = names.collect();
    assert!(names.is_empty(), "{rule}: {names:#?}");
}

#[test]
fn every_test_that_compares_numbers_is_listed_as_one_for_other_cpus_or_not() {
    let suite = repository().join("tests/suite");
    let list = fs::read_to_string(suite.join("numeric.txt")).unwrap();
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let (exempt, run): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("- "));
    assert!(run.is_sorted(), "the tests of tests/suite/numeric.txt must be sorted");
    let exempt: BTreeSet<String> = exempt.iter().map(|line| line[2..].to_owned()).collect();
    let listed: BTreeSet<String> =
        run.iter().map(|line| (*line).to_owned()).chain(exempt.clone()).collect();

    let all = all_items(&suite, "");
    let tests: BTreeSet<_> = all.iter().filter(|one| one.is_test).map(Item::full_name).collect();
    none(listed.difference(&tests), "in tests/suite/numeric.txt, but not in tests/suite");
    let compare = numeric(&all);
    assert!(compare.len() > 50, "{compare:?}");
    none(
        compare.difference(&listed),
        "these compare numbers and are not in tests/suite/numeric.txt",
    );
    none(exempt.difference(&compare), "these compare no numbers");
}

#[test]
fn a_test_that_compares_by_what_it_uses_is_found() {
    let text = "const CLOSE: &str =\n    \"1e-5\";\n\nfn near(a: f64) -> bool {\n    a < 1e-3\n}\n\nfn nearly() {\n    assert!(near(2.0));\n}\n\n\
                #[test]\nfn by_itself() {\n    2f64.to_bits();\n}\n\n#[test]\nfn by_a_call() {\n    nearly();\n}\n\n\
                #[test]\nfn by_a_constant() {\n    tolerance(CLOSE);\n}\n\n#[test]\nfn by_none() {\n    not_nearly(CLOSER);\n}\n";
    let found: Vec<_> = numeric(&items("one::two", text)).into_iter().collect();
    assert_eq!(found, ["one::two::by_a_call", "one::two::by_a_constant", "one::two::by_itself"]);
}
