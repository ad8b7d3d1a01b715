//! From `type =` and settings to the thing itself: one entry per thing, in a static list per kind.
//!
//! A new model, loss, optimizer, … is one file with a [`Component`] and one line in its folder's `mod.rs`.

use hookrack_plugin_api::{Describe, Param, Value, from_value};
use serde::de::DeserializeOwned;

use super::error::{EngineError, Result};

/// Settings that can be built into a `B`, given a context `C` of the host's.
pub trait Component<C: ?Sized, B: ?Sized>: DeserializeOwned + Describe {
    /// What it is, in a message: model, loss, …
    const KIND: &'static str;
    /// Its `type =`.
    const NAME: &'static str;
    /// Other names for it.
    const ALIASES: &'static [&'static str] = &[];

    /// Builds it, or says what is wrong with the settings.
    fn build(self, context: &C) -> Result<Box<B>>;

    /// The error for settings that do not fit.
    fn refuse(why: impl Into<String>) -> EngineError {
        Self::refuse_key("", why)
    }

    /// The error for one setting, `losses.1` for one within a list.
    fn refuse_key(key: impl Into<String>, why: impl Into<String>) -> EngineError {
        let (key, why) = (key.into(), why.into());
        EngineError::Settings { kind: Self::KIND, name: Self::NAME, key, why }
    }
}

/// One line of a registry.
#[derive(Debug)]
pub struct Entry<C: ?Sized, B: ?Sized> {
    /// Its `type =`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub doc: &'static str,
    /// Its settings.
    pub params: fn() -> Vec<Param>,
    /// Builds it from its settings, without `type`.
    pub build: fn(Value, &C) -> Result<Box<B>>,
}

impl<C: ?Sized, B: ?Sized> Entry<C, B> {
    /// The entry of a component.
    pub const fn of<T: Component<C, B>>() -> Self {
        Self {
            name: T::NAME,
            aliases: T::ALIASES,
            doc: T::DOC,
            params: T::params,
            build: build::<C, B, T>,
        }
    }
}

fn build<C: ?Sized, B: ?Sized, T: Component<C, B>>(settings: Value, context: &C) -> Result<Box<B>> {
    let params = T::params();
    check_names(&params, &settings).map_err(T::refuse)?;
    for param in params {
        check_range(&param, settings.field(&param.name)).map_err(T::refuse)?;
    }
    let component: T = from_value(settings).map_err(|error| T::refuse(error.to_string()))?;
    component.build(context)
}

/// Serde alone lets a name pass that nobody knows where settings are made of several structs.
fn check_names(params: &[Param], settings: &Value) -> std::result::Result<(), String> {
    let Value::Table(fields) = settings else { return Ok(()) };
    let known: Vec<_> = params.iter().flat_map(Param::keys).collect();
    match fields.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, _)) => Err(format!("unknown field `{key}`: {}", nearest(key, &known))),
    }
}

fn check_range(param: &Param, value: Option<&Value>) -> std::result::Result<(), String> {
    let Some(number) = value.and_then(Value::as_f64) else { return Ok(()) };
    let Param { name, min, max, .. } = param;
    match (min, max) {
        _ if number.is_nan() => Err(format!("{name} is not a number")),
        _ if number.is_infinite() && !param.takes_infinity() => Err(format!("{name} is infinite")),
        (Some(min), _) if number < *min => Err(format!("{name} = {number} is less than {min}")),
        (_, Some(max)) if number > *max => Err(format!("{name} = {number} is more than {max}")),
        _ => Ok(()),
    }
}

/// A `type =` with its settings, as a config names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The `type =`.
    pub name: String,
    /// The other keys.
    pub settings: Value,
}

impl Choice {
    /// A choice with some settings.
    pub fn new(name: &str, settings: &[(&str, Value)]) -> Self {
        let fields = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Self { name: name.to_owned(), settings: Value::Table(fields.collect()) }
    }

    /// Changes a setting, or adds it.
    pub fn set(&mut self, key: &str, value: Value) {
        let Value::Table(settings) = &mut self.settings else { return };
        match settings.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => settings.push((key.to_owned(), value)),
        }
    }

    /// A choice within settings: a table with a `type`, or what is wrong with it.
    pub fn from_table(kind: &str, table: Value) -> std::result::Result<Self, String> {
        let Value::Table(mut settings) = table else {
            return Err(format!("a table is wanted, found a {}", table.kind()));
        };
        let place = settings.iter().position(|(key, _)| key == "type");
        match place.map(|place| settings.remove(place).1) {
            Some(Value::Str(name)) => Ok(Self { name, settings: Value::Table(settings) }),
            _ => Err(format!("`type` says which {kind}: it is missing")),
        }
    }

    /// Looks the name up in a registry and builds what it stands for.
    pub fn build<C: ?Sized, B: ?Sized>(
        &self,
        kind: &'static str,
        entries: &[Entry<C, B>],
        context: &C,
    ) -> Result<Box<B>> {
        let answers = |entry: &&Entry<C, B>| {
            entry.name == self.name || entry.aliases.contains(&self.name.as_str())
        };
        if let Some(entry) = entries.iter().find(answers) {
            return (entry.build)(self.settings.clone(), context);
        }
        let known: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        let (name, hint) = (self.name.clone(), nearest(&self.name, &known));
        Err(EngineError::UnknownType { kind, name, hint })
    }
}

/// What was meant instead of a name, or all that could be.
fn nearest(name: &str, known: &[&str]) -> String {
    let distance =
        |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let nearest = known.iter().map(|other| (distance(other), other)).min();
    match nearest {
        Some((distance, other)) if distance <= 1 + name.len() / 4 => {
            format!("did you mean `{other}`?")
        }
        Some(_) => format!("there are {}", known.join(", ")),
        None => "there are none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::prelude::Deserialize;

    /// Holds a number.
    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Number {
        /// The number.
        #[param(min = 0.0, max = 1.0)]
        value: f64,
    }

    impl Component<f64, f64> for Number {
        const KIND: &'static str = "number";
        const NAME: &'static str = "Number";
        fn build(self, context: &f64) -> Result<Box<f64>> {
            Ok(Box::new(self.value + context))
        }
    }

    static NUMBERS: &[Entry<f64, f64>] = &[Entry::of::<Number>()];

    fn build(name: &str, key: &str, value: f64) -> std::result::Result<f64, String> {
        Choice::new(name, &[(key, value.into())])
            .build("number", NUMBERS, &1.0)
            .map(|found| *found)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_and_settings_become_the_thing() {
        assert_eq!(build("Number", "value", 0.5), Ok(1.5));
        assert_eq!(NUMBERS[0].doc, "Holds a number.");
        assert_eq!((NUMBERS[0].params)()[0].name, "value");
    }

    #[test]
    fn errors_say_what_which_and_why() {
        let text = |name, key, value| build(name, key, value).unwrap_err();
        assert_eq!(
            text("Numbr", "value", 0.5),
            "no number is named `Numbr`: did you mean `Number`?"
        );
        assert_eq!(text("Zebra", "value", 0.5), "no number is named `Zebra`: there are Number");
        assert_eq!(text("Number", "value", 2.0), "number `Number`: value = 2 is more than 1");
        assert_eq!(text("Number", "value", f64::NAN), "number `Number`: value is not a number");
        assert_eq!(
            text("Number", "valu", 0.5),
            "number `Number`: unknown field `valu`: did you mean `value`?"
        );
    }
}
