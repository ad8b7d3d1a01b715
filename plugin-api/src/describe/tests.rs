//! What structs tell about themselves, as plugins write them.

use crate::prelude::*;
use crate::{Param, ParamType, Presence, from_value};

#[derive(Deserialize, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Linear,
    HalfCosine,
}

/// Keeps an average
/// of something.
///
/// More text.
#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Average {
    /// How slow it moves.
    #[serde(default = "momentum", alias = "decay")]
    #[param(min = 0.0, max = 1.0)]
    momentum: f64,
    shape: Shape,
    widths: Option<Vec<u32>>,
    /// Steps between two updates.
    #[serde(alias = "interval")]
    #[param(default = 10, min = 1)]
    period: u32,
    #[param(default = "ema", check = is_word)]
    file: String,
    #[serde(skip)]
    shadow: Vec<u8>,
}
fn momentum() -> f64 {
    0.99
}
fn is_word(text: &str) -> std::result::Result<(), String> {
    if text.contains(' ') { Err(format!("`{text}` has a space")) } else { Ok(()) }
}

#[test]
fn the_derive_describes_what_serde_accepts() {
    assert_eq!(Average::DOC, "Keeps an average of something.");
    let params = Average::params();
    let names: Vec<_> = params.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["momentum", "shape", "widths", "period", "file"]);
    assert_eq!(
        params[0],
        Param {
            name: "momentum".into(),
            aliases: vec!["decay".into()],
            doc: "How slow it moves.".into(),
            ty: ParamType::Float,
            presence: Presence::Default(0.99.into()),
            min: Some(0.0),
            max: Some(1.0),
        }
    );
    assert_eq!(params[1].ty, ParamType::OneOf(vec!["linear".into(), "half_cosine".into()]));
    assert_eq!(params[1].presence, Presence::Required);
    assert_eq!(params[2].ty, ParamType::List(Box::new(ParamType::Int)));
    assert_eq!(params[2].presence, Presence::Optional);
    assert_eq!(params[3].presence, Presence::Default(10_i64.into()));
    assert_eq!((params[3].aliases.len(), params[3].min), (1, Some(1.0)));
    assert_eq!(params[4].presence, Presence::Default("ema".into()));
    let value = Value::Table(vec![("shape".into(), "half_cosine".into())]);
    let expected = Average {
        momentum: 0.99,
        shape: Shape::HalfCosine,
        widths: None,
        period: 10,
        file: "ema".to_owned(),
        shadow: Vec::new(),
    };
    assert_eq!(from_value::<Average>(value), Ok(expected));
    let value = [("shape".into(), "linear".into()), ("file".into(), "a b".into())];
    let error = from_value::<Average>(Value::Table(value.into())).unwrap_err();
    assert!(error.to_string().contains("file: `a b` has a space"), "{error}");
}

/// What two hooks have in common.
#[derive(Deserialize, Debug, PartialEq)]
struct Pace {
    /// Steps between two looks.
    #[serde(rename = "interval", default = "pace")]
    steps: u32,
}
fn pace() -> u32 {
    7
}

/// Looks now and then.
#[derive(Deserialize, Debug, PartialEq)]
struct Watch {
    #[serde(flatten)]
    pace: Pace,
    #[serde(default)]
    loud: bool,
}

/// Watches.
#[derive(Deserialize)]
struct Watcher {
    /// One scalar.
    #[param(monitor)]
    one: Option<String>,
    /// Some.
    #[serde(default)]
    #[param(monitor)]
    some: Vec<String>,
}

#[test]
fn a_text_that_names_a_scalar_is_described_as_such() {
    let params = Watcher::params();
    assert_eq!(params[0].ty, ParamType::Monitor);
    assert_eq!(params[0].presence, Presence::Optional);
    assert_eq!(params[1].ty, ParamType::List(Box::new(ParamType::Monitor)));
    let mut json = String::new();
    params[1].write_json(&mut json);
    assert!(json.contains("\"type\":{\"list\":\"monitor\"}"), "{json}");
    let given = Value::Table(vec![("one".into(), "val/loss".into())]);
    let read = from_value::<Watcher>(given).unwrap();
    assert_eq!((read.one.as_deref(), read.some.len()), (Some("val/loss"), 0));
}

/// Nothing that the derive knows.
#[derive(serde::Deserialize, Debug, PartialEq, Default)]
struct Foreign(Vec<(String, f64)>);

#[derive(Deserialize, Debug, PartialEq, Default)]
struct Inner {
    #[param(default = 5)]
    steps: u8,
    #[serde(default)]
    loud: bool,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Outer {
    #[serde(default, alias = "within")]
    inner: Inner,
    foreign: Option<Foreign>,
    counts: Option<Vec<u64>>,
    #[param(max = 9)]
    small: Option<i8>,
    pair: Option<(f64, f64)>,
}

#[test]
fn an_absent_table_has_the_defaults_of_its_own_settings() {
    let outer = from_value::<Outer>(Value::empty()).unwrap();
    assert_eq!(outer.inner, Inner { steps: 5, loud: false });
    let inner = Value::Table(vec![("steps".into(), 5.into()), ("loud".into(), false.into())]);
    assert_eq!(Outer::params()[0].presence, Presence::Default(inner));
    let given = Value::Table(vec![("loud".into(), true.into())]);
    let outer = from_value::<Outer>(Value::Table(vec![("within".into(), given)])).unwrap();
    assert_eq!(outer.inner, Inner { steps: 5, loud: true });
}

#[test]
fn what_is_optional_may_be_left_out_whatever_it_is() {
    let params = Outer::params();
    assert!(params[1..].iter().all(|param| param.presence == Presence::Optional));
    assert_eq!((&params[1].ty, &params[4].ty), (&ParamType::Any, &ParamType::Any));
    assert_eq!(params[0].aliases, ["within"]);
}

#[test]
fn the_range_of_an_integer_is_part_of_its_description() {
    let range = |param: &Param| (param.min, param.max);
    let params = Outer::params();
    assert_eq!(range(&params[2]), (Some(0.0), None));
    assert_eq!(range(&params[3]), (Some(-128.0), Some(9.0)), "what is written comes first");
    assert_eq!(range(&Inner::params()[0]), (Some(0.0), Some(255.0)));
}

#[test]
fn flattened_settings_stand_beside_the_others() {
    let names: Vec<_> = Watch::params().into_iter().map(|param| param.name).collect();
    assert_eq!(names, ["interval", "loud"]);
    let given = Value::Table(vec![("interval".into(), 3.into()), ("loud".into(), true.into())]);
    let watch = from_value::<Watch>(given.clone()).unwrap();
    assert_eq!(watch, Watch { pace: Pace { steps: 3 }, loud: true });
    assert_eq!(crate::describe::Setting::to_value(&watch), Some(given));
    assert_eq!(from_value::<Watch>(Value::empty()).unwrap().pace.steps, 7);
}
