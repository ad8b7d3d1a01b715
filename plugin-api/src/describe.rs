//! What a settings struct tells about itself: each parameter's name, type, default and doc line.
//!
//! The prelude's `#[derive(Deserialize)]` writes the [`Describe`] implementation from the struct as it stands,
//! so that a config can be checked, completed and documented without loading a single tensor.

use crate::value::{Value, from_value};
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// One parameter of a hook, a metric, a model, an optimizer: of anything a config can name.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The key in the config.
    pub name: String,
    /// Other keys that mean the same.
    pub aliases: Vec<String>,
    /// What it does, in a line.
    pub doc: String,
    /// What kind of value it takes.
    pub ty: ParamType,
    /// Whether it must be written, and what it is when it is not.
    pub presence: Presence,
    /// The smallest number allowed.
    pub min: Option<f64>,
    /// The largest number allowed.
    pub max: Option<f64>,
}

/// Whether a parameter must be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// It must be written.
    Required,
    /// It may be absent, and then stays absent.
    Optional,
    /// It has this value when it is absent.
    Default(Value),
}

/// What kind of value a parameter takes. An integer is accepted where a float is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamType {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A text.
    Str,
    /// A file or folder; a relative one is meant from the config that names it.
    Path,
    /// The full name of a scalar of the run, such as `val/Accuracy`; an empty text names none. A config that names one
    /// which nothing puts is refused.
    Monitor,
    /// One of these names.
    OneOf(Vec<String>),
    /// A list of values of one kind.
    List(Box<ParamType>),
    /// A table with these parameters.
    Table(Vec<Param>),
    /// Whatever the type itself accepts; nothing is known about it from outside.
    Any,
}

/// A settings struct that tells its parameters.
pub trait Describe {
    /// The first paragraph of the struct's doc comment.
    const DOC: &'static str;
    /// The parameters, in the order of the fields.
    fn params() -> Vec<Param>;
}

/// A type that a settings field may have.
pub trait Setting {
    /// The kind of value that it is written as.
    fn param_type() -> ParamType;
    /// The value that stands for `self`, where there is one.
    fn to_value(&self) -> Option<Value>;
    /// Whether a field of this type may be left out without a default.
    const OPTIONAL: bool = false;
    /// The smallest and the largest number that it holds, where a config could write another.
    const RANGE: (Option<f64>, Option<f64>) = (None, None);
}

macro_rules! setting {
    ($kind:ident: $($ty:ty),*) => {
        $(impl Setting for $ty {
            fn param_type() -> ParamType { ParamType::$kind }
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, trivial_numeric_casts, clippy::allow_attributes,
                    reason = "one macro body for every width; a default never comes near the limits")]
            fn to_value(&self) -> Option<Value> { Some(setting!(@value $kind, self)) }
        })*
    };
    (@value Int, $v:expr) => { Value::Int(*$v as i64) };
    (@value Float, $v:expr) => { Value::Float(f64::from(*$v)) };
    (@value Bool, $v:expr) => { Value::Bool(*$v) };
    (@value Str, $v:expr) => { Value::Str($v.clone()) };
}
setting!(Bool: bool);
setting!(Int: i64, isize);
setting!(Float: f32, f64);
setting!(Str: String);

/// As `setting!`, for integers that do not hold all that a config can write: the range is part of the description.
macro_rules! bounded_setting {
    ($($ty:ty: $min:expr, $max:expr;)*) => {
        $(impl Setting for $ty {
            fn param_type() -> ParamType { ParamType::Int }
            /// A count beyond 2^63 - 1 stays at that.
            fn to_value(&self) -> Option<Value> {
                Some(Value::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
            const RANGE: (Option<f64>, Option<f64>) = ($min, $max);
        })*
    };
}
bounded_setting! {
    i8: Some(-128.0), Some(127.0);
    i16: Some(-32_768.0), Some(32_767.0);
    i32: Some(-2_147_483_648.0), Some(2_147_483_647.0);
    u8: Some(0.0), Some(255.0);
    u16: Some(0.0), Some(65_535.0);
    u32: Some(0.0), Some(4_294_967_295.0);
    u64: Some(0.0), None;
    usize: Some(0.0), None;
}

impl Setting for PathBuf {
    fn param_type() -> ParamType {
        ParamType::Path
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Str(self.to_string_lossy().into_owned()))
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn param_type() -> ParamType {
        ParamType::List(Box::new(T::param_type()))
    }
    fn to_value(&self) -> Option<Value> {
        self.iter().map(Setting::to_value).collect::<Option<Vec<_>>>().map(Value::List)
    }
    const RANGE: (Option<f64>, Option<f64>) = T::RANGE;
}

impl<T: Setting> Setting for Option<T> {
    fn param_type() -> ParamType {
        T::param_type()
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(Setting::to_value)
    }
    const OPTIONAL: bool = true;
    const RANGE: (Option<f64>, Option<f64>) = T::RANGE;
}

impl Param {
    /// The key and its aliases.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    /// Whether an infinite number is allowed: its range says so (`max = f64::INFINITY`), or its default is one.
    pub fn takes_infinity(&self) -> bool {
        let by_range = [self.min, self.max].into_iter().flatten().any(f64::is_infinite);
        let by_default =
            matches!(&self.presence, Presence::Default(Value::Float(f)) if f.is_infinite());
        by_range || by_default
    }
}

impl ParamType {
    /// The same, where its texts are names of scalars: what `#[param(monitor)]` says.
    #[must_use]
    pub fn naming_scalars(self) -> Self {
        match self {
            Self::Str => Self::Monitor,
            Self::List(item) => Self::List(Box::new(item.naming_scalars())),
            other => other,
        }
    }
}

/// Asks a type for what it implements, and takes "nothing known" for an answer where it does not.
///
/// The derive and `#[hook]` call these methods through references: method look-up then prefers the
/// implementation with the bound, and falls back to the one without.
#[derive(Default)]
pub struct Ask<T>(std::marker::PhantomData<T>);

impl<T> Ask<T> {
    /// A question about `T`.
    pub fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

/// The answers of a [`Setting`].
pub trait AskSetting<T> {
    /// See [`Setting::param_type`].
    fn param_type(&self) -> ParamType;
    /// See [`Setting::to_value`].
    fn to_value(&self, value: &T) -> Option<Value>;
    /// See [`Setting::OPTIONAL`].
    fn optional(&self) -> bool;
    /// See [`Setting::RANGE`].
    fn range(&self) -> (Option<f64>, Option<f64>);
}

impl<T: Setting> AskSetting<T> for &&Ask<T> {
    fn param_type(&self) -> ParamType {
        T::param_type()
    }
    fn to_value(&self, value: &T) -> Option<Value> {
        value.to_value()
    }
    fn optional(&self) -> bool {
        T::OPTIONAL
    }
    fn range(&self) -> (Option<f64>, Option<f64>) {
        T::RANGE
    }
}

/// The answers of an `Option` of what is no [`Setting`]: it may be left out, and nothing else is known.
pub trait AskOption<T> {
    /// Nothing is known.
    fn param_type(&self) -> ParamType {
        ParamType::Any
    }
    /// Nothing is known.
    fn to_value(&self, _value: &Option<T>) -> Option<Value> {
        None
    }
    /// It may be.
    fn optional(&self) -> bool {
        true
    }
    /// Nothing is known.
    fn range(&self) -> (Option<f64>, Option<f64>) {
        (None, None)
    }
}

impl<T> AskOption<T> for &Ask<Option<T>> {}

/// The answers where a type is no [`Setting`].
pub trait AskAnything<T> {
    /// Nothing is known.
    fn param_type(&self) -> ParamType {
        ParamType::Any
    }
    /// Nothing is known.
    fn to_value(&self, _value: &T) -> Option<Value> {
        None
    }
    /// Nothing is known.
    fn optional(&self) -> bool {
        false
    }
    /// Nothing is known.
    fn range(&self) -> (Option<f64>, Option<f64>) {
        (None, None)
    }
}

impl<T> AskAnything<T> for Ask<T> {}

/// The default of a field that says `#[serde(default)]`: that of its settings one by one, where it has such.
pub trait AskNested<T> {
    /// What an empty table gives; where that lacks something, `T::default()`.
    fn usual(&self) -> T;
}

impl<T: Describe + DeserializeOwned + Default> AskNested<T> for &Ask<T> {
    fn usual(&self) -> T {
        from_value(Value::empty()).unwrap_or_default()
    }
}

/// The default where a type has no settings of its own.
pub trait AskDefault<T> {
    /// `T::default()`.
    fn usual(&self) -> T;
}

impl<T: Default> AskDefault<T> for Ask<T> {
    fn usual(&self) -> T {
        T::default()
    }
}

/// The answers of a [`Describe`].
pub trait AskDescribe {
    /// See [`Describe::DOC`].
    fn doc(&self) -> &'static str;
    /// See [`Describe::params`]; `None` where the parameters are not known from outside.
    fn params(&self) -> Option<Vec<Param>>;
}

impl<T: Describe> AskDescribe for &Ask<T> {
    fn doc(&self) -> &'static str {
        T::DOC
    }
    fn params(&self) -> Option<Vec<Param>> {
        Some(T::params())
    }
}

/// The answers where a type does not describe itself.
pub trait AskUndescribed {
    /// Nothing is known.
    fn doc(&self) -> &'static str {
        ""
    }
    /// Nothing is known.
    fn params(&self) -> Option<Vec<Param>> {
        None
    }
}

impl<T> AskUndescribed for Ask<T> {}

#[cfg(test)]
mod tests {
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
}
