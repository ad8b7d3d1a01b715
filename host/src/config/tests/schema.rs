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
fn a_hook_of_a_library_is_in_the_schema_with_its_parameters() {
    let schema = schema();
    let hooks = schema["properties"]["custom_hooks"]["items"]["anyOf"].as_array().unwrap();
    let ema = hooks.iter().find(|hook| hook["title"] == "EMAIterHook").unwrap();
    let momentum = &ema["properties"]["momentum"];
    assert_eq!(momentum["default"], 0.9998);
    assert_eq!((&momentum["minimum"], &momentum["maximum"]), (&0.0.into(), &1.0.into()));
    assert_eq!(ema["additionalProperties"], false);
    assert!(ema["properties"]["level"].is_object() && ema["properties"]["phase"].is_object());
}

#[test]
fn every_section_is_in_the_schema() {
    let schema = schema();
    for section in crate::config::fixed::TOP_LEVEL {
        assert!(schema["properties"][section].is_object(), "{section}");
    }
}
