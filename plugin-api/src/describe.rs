//! Descriptions of settings: name, type, default and documentation of each parameter.
//!
//! `#[derive(Settings)]` generates the [`Describe`] implementation from the struct, so that a config can be validated and documented
//! without creating the hook.

use crate::value::{Value, from_value};
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// A parameter of a hook, a metric, or any other component of a config. It becomes part of the manifest: the
/// host checks a config with it before the plugin is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The key in the config.
    pub name: String,
    /// Other keys with the same meaning.
    pub aliases: Vec<String>,
    /// What it does: the first paragraph of the field's doc comment, in one line.
    pub doc: String,
    /// The type of its value.
    pub ty: ParamType,
    /// Whether it is required, and its default.
    pub presence: Presence,
    /// The smallest number allowed; of a list, that of each number in it.
    pub min: Option<f64>,
    /// The largest number allowed, likewise. An infinite number in a config is an error unless this range or
    /// the default has one; NaN always is.
    pub max: Option<f64>,
}

/// Whether a parameter is required.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// It must be set.
    Required,
    /// It may be absent, without a default.
    Optional,
    /// Its default, which help and schema show.
    Default(Value),
}

/// The type of a parameter's value. An integer is accepted for a float, but not a float for an integer.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamType {
    /// `true` or `false`.
    Bool,
    /// An integer.
    Int,
    /// A float.
    Float,
    /// A string.
    Str,
    /// A file or folder, relative to the config that names it. The hook receives it as an absolute path; an
    /// empty one, and one with `~/` or `$HOME`, is an error. Whether it exists is not checked.
    Path,
    /// The full name of a scalar of the run, such as `val/Accuracy`; an empty string for none. A name that
    /// nothing logs makes the config invalid.
    Monitor,
    /// One of these names, in exactly this case.
    OneOf(Vec<String>),
    /// A list of values of one type, which may be empty.
    List(Box<ParamType>),
    /// A table with these parameters. Another key in it is an error.
    Table(Vec<Param>),
    /// A table like `[model]` for a model that is not trained, with `weights` as a path.
    Model,
    /// Any value; only the component itself checks it. Numbers in it must be finite.
    Any,
}

/// A struct that describes its parameters. `#[derive(Settings)]` implements it.
///
/// Called when the library is loaded, before any instance exists: the result must not depend on the
/// machine.
pub trait Describe {
    /// The first paragraph of the struct's doc comment.
    const DOC: &'static str;
    /// The parameters, in the order of the fields.
    fn params() -> Vec<Param>;
}

/// A type that a settings field can have: `bool`, integers, floats, `String`, `PathBuf`, an enum or struct
/// that derives `Settings`, [`Layers`](crate::Layers), [`SecondModel`](crate::SecondModel), and an `Option`
/// or a `Vec` of these. A field of any other type works if it can be deserialized, but is described as
/// [`ParamType::Any`].
///
/// An integer type that is narrower than the integers of a config describes its range, so that a number
/// beyond it is an error in the config, at its line.
pub trait Setting {
    /// Returns the type of its value in a config.
    fn param_type() -> ParamType;
    /// Returns the value that a config would contain for `self`, if there is one: for the defaults in a
    /// manifest.
    fn to_value(&self) -> Option<Value>;
    /// Whether a field of this type may be omitted without a default.
    const OPTIONAL: bool = false;
    /// The range of the type, if a config could contain a number outside of it.
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

/// As `setting!`, for integer types narrower than the integers of a config: their range is part of the description.
macro_rules! bounded_setting {
    ($($ty:ty: $min:expr, $max:expr;)*) => {
        $(impl Setting for $ty {
            fn param_type() -> ParamType { ParamType::Int }
            /// A count above 2^63 - 1 is clamped to it.
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
    /// Returns the key and its aliases. Two of them in one table are an error.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    /// Returns whether an infinite number is allowed: its range says so (`max = f64::INFINITY`), or its
    /// default is one.
    pub fn takes_infinity(&self) -> bool {
        let by_range = [self.min, self.max].into_iter().flatten().any(f64::is_infinite);
        let by_default =
            matches!(&self.presence, Presence::Default(Value::Float(f)) if f.is_infinite());
        by_range || by_default
    }
}

impl ParamType {
    /// The same for `#[param(monitor)]`: its strings are names of scalars.
    #[must_use]
    pub fn naming_scalars(self) -> Self {
        match self {
            Self::Str => Self::Monitor,
            Self::List(item) => Self::List(Box::new(item.naming_scalars())),
            other => other,
        }
    }
}

/// Queries what a type implements; the answer is "nothing known" for a trait that it does not implement.
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

/// The description of an `Option` of a type that is not a [`Setting`]: it may be omitted, nothing else is known.
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

/// The description of a type that is not a [`Setting`].
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

/// A table of settings that may all be omitted. `#[derive(Settings)]` implements it where each field has a default.
pub trait SettingDefaults {
    /// Returns the value of an empty table.
    fn setting_defaults() -> Self;
}

/// The default of a field whose type is a table of settings that may all be omitted.
pub trait AskTable<T> {
    /// See [`SettingDefaults::setting_defaults`].
    fn usual(&self) -> T;
}

impl<T: SettingDefaults> AskTable<T> for &&Ask<T> {
    fn usual(&self) -> T {
        T::setting_defaults()
    }
}

/// The default of a field with `#[serde(default)]`: the defaults of its settings one by one, if its type has settings.
pub trait AskNested<T> {
    /// The value of an empty table, or `T::default()` if a setting is required.
    fn usual(&self) -> T;
}

impl<T: Describe + DeserializeOwned + Default> AskNested<T> for &Ask<T> {
    fn usual(&self) -> T {
        from_value(Value::empty()).unwrap_or_default()
    }
}

/// The default of a type without settings of its own.
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
    /// See [`Describe::params`]; `None` if the parameters are not described.
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

/// The answers for a type without a description.
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
mod settings_tests;
#[cfg(test)]
mod tests;
