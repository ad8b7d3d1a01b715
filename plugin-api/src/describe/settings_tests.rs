//! What `#[derive(Settings)]` makes of structs and enums, as plugins write them.

use crate::prelude::*;
use crate::{ParamType, Presence, from_value};
use std::path::PathBuf;

#[derive(Settings, Clone, Copy, Debug, Default, PartialEq)]
enum Shape {
    #[default]
    Linear,
    HalfCosine,
    #[param(name = "exp", alias = "exponential")]
    Exponential,
}

/// Keeps an average
/// of something.
///
/// More text.
#[derive(Settings, Debug, PartialEq)]
struct Average {
    /// How slow it moves.
    #[param(default = 0.99, min = 0.0, max = 1.0, alias = "decay")]
    momentum: f64,
    #[param(default = Shape::HalfCosine)]
    shape: Shape,
    #[param(default = [64, 32])]
    widths: Vec<u32>,
    #[param(default = ["loss", "lr"])]
    scalars: Vec<String>,
    #[param(default = "ema", check = is_word)]
    file: String,
    #[param(default = "out")]
    folder: PathBuf,
    #[param(name = "type", default)]
    kind: Shape,
    #[param(default)]
    pace: Pace,
    seed: Option<u64>,
    #[param(monitor)]
    watched: Option<String>,
    #[param(skip)]
    shadow: Vec<u8>,
}

#[derive(Settings, Debug, PartialEq)]
struct Pace {
    #[param(default = 7, min = 1)]
    steps: u32,
}

fn is_word(text: &str) -> std::result::Result<(), String> {
    if text.contains(' ') { Err(format!("`{text}` has a space")) } else { Ok(()) }
}

fn table(fields: &[(&str, Value)]) -> Value {
    Value::Table(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}

fn refusal<T: serde::de::DeserializeOwned>(fields: &[(&str, Value)]) -> String {
    match from_value::<T>(table(fields)) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_default_of_a_missing_key_is_the_described_one() {
    let made: Average = from_value(Value::empty()).unwrap();
    let expected = Average {
        momentum: 0.99,
        shape: Shape::HalfCosine,
        widths: vec![64, 32],
        scalars: vec!["loss".into(), "lr".into()],
        file: "ema".into(),
        folder: "out".into(),
        kind: Shape::Linear,
        pace: Pace { steps: 7 },
        seed: None,
        watched: None,
        shadow: Vec::new(),
    };
    assert_eq!(made, expected);
    assert_eq!(Average::DOC, "Keeps an average of something.");
    let described: Vec<_> =
        Average::params().into_iter().map(|param| (param.name, param.presence)).collect();
    let default = |key: &str, value: Value| (key.to_owned(), Presence::Default(value));
    assert_eq!(
        described,
        [
            default("momentum", 0.99.into()),
            default("shape", "half_cosine".into()),
            default("widths", vec![64_i64, 32].into()),
            default("scalars", vec!["loss", "lr"].into()),
            default("file", "ema".into()),
            default("folder", "out".into()),
            default("type", "linear".into()),
            default("pace", table(&[("steps", 7.into())])),
            ("seed".to_owned(), Presence::Optional),
            ("watched".to_owned(), Presence::Optional),
        ]
    );
}

#[test]
fn ranges_aliases_and_monitors_are_described() {
    let params = Average::params();
    assert_eq!((params[0].min, params[0].max), (Some(0.0), Some(1.0)));
    assert_eq!(params[0].aliases, ["decay"]);
    assert_eq!(params[0].doc, "How slow it moves.");
    assert_eq!(params[5].ty, ParamType::Path);
    assert_eq!(params[9].ty, ParamType::Monitor);
    let given = table(&[("decay", 0.5.into()), ("type", "exponential".into())]);
    let made: Average = from_value(given).unwrap();
    assert_eq!((made.momentum.to_bits(), made.kind), (0.5_f64.to_bits(), Shape::Exponential));
}

#[test]
fn unknown_keys_and_names_are_refused() {
    let unknown = refusal::<Average>(&[("momentun", 0.5.into())]);
    assert!(unknown.starts_with("unknown field `momentun`"), "{unknown}");
    let skipped = refusal::<Average>(&[("shadow", vec![1_i64].into())]);
    assert!(skipped.starts_with("unknown field `shadow`"), "{skipped}");
    let nested = refusal::<Average>(&[("pace", table(&[("stepz", 1.into())]))]);
    assert!(nested.starts_with("`pace`: unknown field `stepz`"), "{nested}");
    let name = refusal::<Average>(&[("shape", "HalfCosine".into())]);
    assert!(name.contains("unknown variant `HalfCosine`"), "{name}");
    let checked = refusal::<Average>(&[("file", "a b".into())]);
    assert_eq!(checked, "file: `a b` has a space");
}

/// Nothing to set.
#[derive(Settings, Debug, PartialEq)]
struct Plain;

/// Two at once.
#[derive(Settings, Debug, PartialEq)]
struct Both {
    #[param(flatten)]
    pace: Pace,
    #[param(default = true)]
    r#loud: bool,
    count: u8,
}

#[test]
fn a_struct_without_fields_takes_no_key() {
    assert_eq!(from_value(Value::empty()), Ok(Plain));
    assert_eq!((Plain::DOC, Plain::params().len()), ("Nothing to set.", 0));
    assert!(refusal::<Plain>(&[("a", 1.into())]).starts_with("unknown field `a`"));
}

#[test]
fn a_flattened_struct_shares_its_keys_and_a_field_without_default_is_required() {
    let made: Both = from_value(table(&[("steps", 3.into()), ("count", 2.into())])).unwrap();
    assert_eq!(made, Both { pace: Pace { steps: 3 }, loud: true, count: 2 });
    let names: Vec<_> = Both::params().into_iter().map(|param| param.name).collect();
    assert_eq!(names, ["steps", "loud", "count"]);
    assert_eq!(Both::params()[2].presence, Presence::Required);
    assert!(refusal::<Both>(&[("steps", 3.into())]).contains("missing field `count`"));
}
