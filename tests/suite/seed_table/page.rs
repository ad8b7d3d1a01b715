//! The page that is made of the table.

use super::{Here, Row, SEEDS, Section, all_rows};
use std::fmt::Write as _;

const HEAD: &str = "\
# The seeds, name by name

hookrack grew out of the trainers of ColossalAI, LiBai, Orca (BigDL) and iMIX. This page has every hook, point, learning rate
schedule, metric and parameter of theirs, and what it is here. It is made by a test that looks each name up in the program:
`UPDATE_EXPECT=1 cargo test -p hookrack-tests seed_table` regenerates it.

- *same*: the name is the same here; a parameter without a remark is, too.
- `Name`: the name here. `section.key`: a key of the [config](config.md).
- *always*: the loop does it, without a name.
- *not yet* and *no*: what is missing, with the reason. Several processes train data parallel; what concerns pipelines and parts of layers has no counterpart.

`configs/seeds/` has each seed's own list of hooks as a config that runs.
";

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn here(here: Here) -> String {
    match here {
        Here::Same => "*same*".to_owned(),
        Here::As(name) => format!("`{name}`"),
        Here::Keys(words) | Here::Types(words) => quoted(words),
        Here::Api(words) => {
            let calls: Vec<_> = words.iter().map(|word| format!("`t.{word}()`")).collect();
            calls.join(", ")
        }
        Here::Command(command, option) => format!("`hookrack {command} {option}`"),
        Here::Always => "*always*".to_owned(),
        Here::NotYet => "*not yet*".to_owned(),
        Here::No => "*no*".to_owned(),
    }
}

fn param(name: &str, ours: &str) -> String {
    match ours.strip_prefix('-') {
        Some(why) => format!("`{name}`: {}", why.trim()),
        None if ours.is_empty() => format!("`{name}`"),
        None => format!("`{name}`: `{ours}`"),
    }
}

fn line(out: &mut String, row: &Row) {
    let params: Vec<_> = row.params.iter().map(|(name, ours)| param(name, ours)).collect();
    let cells = [params.join("; "), row.note.to_owned()].map(|cell| cell.replace('|', "\\|"));
    let here = here(row.here);
    _ = writeln!(out, "| `{}` | {here} | {} | {} |", row.name, cells[0], cells[1]);
}

fn section(out: &mut String, section: &Section) {
    let title = section.title;
    _ = write!(out, "\n### {title}\n\n| there | here | parameters | |\n|---|---|---|---|\n");
    section.rows.iter().for_each(|row| line(out, row));
}

/// How many rows are here, and how many are not.
fn count(out: &mut String) {
    let missing = |here: Here| matches!(here, Here::No | Here::NotYet);
    _ = write!(out, "\n| | rows | here | not yet, or not |\n|---|---|---|---|\n");
    for seed in SEEDS {
        let of_seed = || all_rows().filter(|(of, _, _)| of.name == seed.name);
        let (all, left) = (of_seed().count(), of_seed().filter(|(_, _, row)| missing(row.here)));
        let left = left.count();
        _ = writeln!(out, "| {} | {all} | {} | {left} |", seed.name, all - left);
    }
}

/// The page.
pub(super) fn page() -> String {
    let mut out = HEAD.to_owned();
    count(&mut out);
    for seed in SEEDS {
        _ = write!(out, "\n## {}\n\n{}\n", seed.name, seed.about);
        seed.sections.iter().for_each(|one| section(&mut out, one));
    }
    out
}
