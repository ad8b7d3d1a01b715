//! The schema describes what the checker accepts.

use serde_json::Value;

use super::catalog::catalog;
use super::fixtures::{expect, fixtures};
use crate::config::schema::json_schema;

fn schema() -> Value {
    json_schema(&catalog(&["/plugins/libema.so".into()]))
}

#[test]
fn the_schema_is_the_one_that_was_reviewed() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let path = fixtures("good_configs").join("schema.json");
    expect(&path, &text).unwrap_or_else(|difference| panic!("{difference}"));
}

#[test]
fn the_sections_in_the_docs_are_those_of_a_config() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| section | |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap().to_owned());
    let names = cells.flat_map(|cell| {
        let names = cell.split('`').skip(1).step_by(2);
        names.map(|name| name.trim_matches(['[', ']']).to_owned()).collect::<Vec<_>>()
    });
    let mut listed: Vec<_> = names.map(|name| name.split('.').next().unwrap().to_owned()).collect();
    listed.sort();
    listed.dedup();
    let mut known = crate::config::fixed::TOP_LEVEL;
    known.sort_unstable();
    assert_eq!(listed, known);
}
