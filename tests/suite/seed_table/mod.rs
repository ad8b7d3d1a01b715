//! `docs/seeds.md`: every hook, point, schedule, metric and parameter of the four seeds, and what it is here.
//!
//! The page is made from the tables of this module. Each name in them is looked up where a user's would be: in the
//! catalogue, among the points, in the config's schema, in the commands' help, in plugin-api.

mod colossalai;
mod imix;
mod libai;
mod orca;
mod page;
mod resolve;

use crate::workshop::repository;
use resolve::Names;
use std::fs;

/// What the rows of a section are.
#[derive(Clone, Copy, PartialEq)]
enum RowKind {
    Point,
    Hook,
    Metric,
    Scheduler,
    /// Anything else: settings, attributes, commands.
    Other,
}

/// What something of a seed is here.
#[derive(Clone, Copy)]
enum Here {
    /// The same name.
    Same,
    /// Another name of the same kind.
    As(&'static str),
    /// Keys of the config.
    Keys(&'static [&'static str]),
    /// Equivalent types in a config, of any kind.
    Types(&'static [&'static str]),
    /// Methods of plugin-api.
    Api(&'static [&'static str]),
    /// A command, and an option of it.
    Command(&'static str, &'static str),
    /// The loop does it; it has no name.
    Always,
    /// Not here yet.
    NotYet,
    /// Not here, for the reason in the note.
    No,
}

/// A row: the seed's name, what it is here, its parameters, a note.
///
/// A parameter is `(name, ours)`: an empty `ours` is the same name, one with a dot a key of the config, one that begins
/// with `-` the reason why there is none.
struct Row {
    name: &'static str,
    here: Here,
    params: &'static [(&'static str, &'static str)],
    note: &'static str,
}

const fn row(name: &'static str, here: Here, note: &'static str) -> Row {
    Row { name, here, params: &[], note }
}

impl Row {
    const fn with(self, params: &'static [(&'static str, &'static str)]) -> Self {
        Self { params, ..self }
    }
}

struct Section {
    title: &'static str,
    subject: RowKind,
    rows: &'static [Row],
}

struct Seed {
    name: &'static str,
    about: &'static str,
    sections: &'static [Section],
}

const SEEDS: [&Seed; 4] = [&colossalai::COLOSSALAI, &libai::LIBAI, &orca::ORCA, &imix::IMIX];

fn all_rows() -> impl Iterator<Item = (&'static Seed, &'static Section, &'static Row)> {
    SEEDS.into_iter().flat_map(|seed| {
        let sections = seed.sections.iter();
        sections.flat_map(move |section| section.rows.iter().map(move |row| (seed, section, row)))
    })
}

#[test]
fn every_name_of_the_table_is_one_here() {
    let names = Names::of_this_build();
    let mut wrong = Vec::new();
    for (seed, section, row) in all_rows() {
        let faults = names.faults(section.subject, row);
        let of = |fault: String| format!("{} {}: {fault}", seed.name, row.name);
        wrong.extend(faults.into_iter().map(of));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_that_is_none_would_be_found_out() {
    let names = Names::of_this_build();
    let is_wrong = |subject, row: Row| !names.faults(subject, &row).is_empty();
    assert!(is_wrong(RowKind::Hook, row("LossHok", Here::Same, "")));
    assert!(is_wrong(RowKind::Point, row("before_step", Here::As("before_iteration"), "")));
    assert!(is_wrong(RowKind::Metric, row("Accuracy", Here::No, "it is there")));
    assert!(is_wrong(RowKind::Metric, row("VQAAccuracy", Here::No, "")));
    assert!(is_wrong(RowKind::Scheduler, row("StepLR", Here::Same, "").with(&[("gama", "")])));
    assert!(is_wrong(RowKind::Other, row("x", Here::Keys(&["train.max_epoch"]), "")));
    assert!(is_wrong(RowKind::Other, row("x", Here::Api(&["put_scalr"]), "")));
    assert!(is_wrong(RowKind::Other, row("x", Here::Command("train", "--resum-from"), "")));
    assert!(is_wrong(RowKind::Other, row("x", Here::Types(&["ResNett"]), "")));
}

/// What other tests run is in the table too.
#[test]
fn every_hook_and_parameter_that_is_tried_has_a_row() {
    for (seed, hook, settings) in crate::seed_parameters::PARAMETERS {
        let of_seed = |(of, section, row): &(&Seed, &Section, &Row)| {
            of.name == *seed && section.subject == RowKind::Hook && row.name == *hook
        };
        let found = all_rows().find(of_seed);
        let (_, _, row) = found.unwrap_or_else(|| panic!("{seed}: {hook} has no row"));
        let keys = settings.lines().filter_map(|line| Some(line.split_once(" = ")?.0));
        for key in keys {
            let known = row.params.iter().any(|(name, ours)| *name == key || *ours == key);
            assert!(known, "{seed}: `{key}` of {hook} has no row");
        }
    }
    for (seed, file) in [
        ("ColossalAI", "colossalai.toml"),
        ("LiBai", "libai.toml"),
        ("Orca", "orca.toml"),
        ("iMIX", "imix.toml"),
    ] {
        let text = fs::read_to_string(repository().join("configs/seeds").join(file)).unwrap();
        let lists = text.split("[[custom_hooks]]").skip(1);
        for entry in lists {
            let hook = entry.split("type = \"").nth(1).unwrap().split('"').next().unwrap();
            let known = all_rows().any(|(of, _, row)| of.name == seed && row.name == hook);
            assert!(known, "{file}: {hook} is in no row of {seed}");
        }
    }
}

#[test]
fn the_page_in_the_docs_is_what_the_table_says() {
    let path = repository().join("docs/seeds.md");
    let made = page::page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "docs/seeds.md is not fresh, run this test with UPDATE_EXPECT=1: {differs:?}"
    );
}
