//! `docs/seeds.md`: every hook, point, schedule, metric and parameter of the four seeds, and what it is here.
//!
//! The tables of the page are read, and each name in them is looked up where a user's would be: in the catalogue, among
//! the points, in the config's schema, in the commands' help, in plugin-api.

mod names;
mod page;

use crate::workshop::repository;
use names::Names;
use page::{Row, RowKind, rows};
use std::fs;

/// What is wrong with a row of a section, if anything is.
fn faults(names: &Names, subject: RowKind, line: &str) -> Vec<String> {
    names.faults(&Row { subject, ..Row::read("", "", line) })
}

#[test]
fn every_name_of_the_table_is_one_here() {
    let names = Names::of_this_build();
    let of = |row: &Row| {
        let title = format!("{} {}", row.seed, row.name);
        names.faults(row).into_iter().map(move |fault| format!("{title}: {fault}"))
    };
    let wrong: Vec<_> = rows().iter().flat_map(of).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_that_is_none_would_be_found_out() {
    let names = Names::of_this_build();
    for (subject, line) in [
        (RowKind::Hook, "| `LossHok` | *same* |  |  |"),
        (RowKind::Point, "| `before_step` | `before_iteration` |  |  |"),
        (RowKind::Metric, "| `Accuracy` | *no* |  | it is there |"),
        (RowKind::Metric, "| `VQAAccuracy` | *no* |  |  |"),
        (RowKind::Scheduler, "| `StepLR` | *same* | `gama` |  |"),
        (RowKind::Other, "| `x` | `train.max_epoch` |  |  |"),
        (RowKind::Other, "| `x` | `t.put_scalr()` |  |  |"),
        (RowKind::Other, "| `x` | `hookrack train --resum-from` |  |  |"),
        (RowKind::Other, "| `x` | `ResNett` |  |  |"),
    ] {
        assert!(!faults(&names, subject, line).is_empty(), "{line}");
    }
}

/// What other tests run is in the table too.
#[test]
fn every_hook_and_parameter_that_is_tried_has_a_row() {
    let rows = rows();
    for (seed, hook, settings) in crate::seed_parameters::parameters() {
        let is_it =
            |row: &&Row| row.seed == seed && row.subject == RowKind::Hook && row.name == hook;
        let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{seed}: {hook} has no row"));
        for (key, _) in settings.lines().filter_map(|line| line.split_once(" = ")) {
            let is_key = |(name, ours): &(String, Option<String>)| {
                name == key || ours.as_ref().is_some_and(|ours| ours == key)
            };
            assert!(row.params.iter().any(is_key), "{seed}: `{key}` of {hook} has no row");
        }
    }
    for seed in ["ColossalAI", "LiBai", "Orca", "iMIX"] {
        let file = format!("configs/seeds/{}.toml", seed.to_lowercase());
        let text = fs::read_to_string(repository().join(&file)).unwrap();
        for entry in text.split("[[custom_hooks]]").skip(1) {
            let hook = entry.split("type = \"").nth(1).unwrap().split('"').next().unwrap();
            let known = rows.iter().any(|row| row.seed == seed && row.name == hook);
            assert!(known, "{file}: {hook} is in no row of {seed}");
        }
    }
}

#[test]
fn the_page_counts_its_rows() {
    let (rows, text) = (rows(), page::text());
    for seed in ["ColossalAI", "LiBai", "Orca", "iMIX"] {
        let own = || rows.iter().filter(|row| row.seed == seed);
        let (all, missing) = (own().count(), own().filter(|row| row.is_missing()).count());
        let line = format!("\n| {seed} | {all} | {} | {missing} |\n", all - missing);
        assert!(text.contains(&line), "docs/seeds.md does not have:{line}");
    }
}
