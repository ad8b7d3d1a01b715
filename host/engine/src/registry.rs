//! Builds components from `type =` and settings: one entry per component, in a static list per kind.
//!
//! A new model, loss, optimizer, … is one file with a [`Component`] and one line in its folder's `mod.rs`.

use std::fmt;

use hookrack_plugin_api::name::nearest;
use hookrack_plugin_api::{Describe, Param, Value, from_value};
use serde::de::DeserializeOwned;

use super::error::{EngineError, Result};

pub use hookrack_plugin_api::Choice;

/// What a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentKind {
    /// `[model]`
    Model,
    /// `[[model.layers]]`
    Layer,
    /// `[loss]`
    Loss,
    /// `[optimizer]`
    Optimizer,
    /// `[lr_scheduler]`
    LrScheduler,
    /// `[schedule]`
    Schedule,
    /// `[data.train]` and its siblings
    Dataset,
    /// An entry of a split's `transforms`
    Transform,
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model",
            Self::Layer => "layer",
            Self::Loss => "loss",
            Self::Optimizer => "optimizer",
            Self::LrScheduler => "lr scheduler",
            Self::Schedule => "schedule",
            Self::Dataset => "data set",
            Self::Transform => "transform",
        })
    }
}

/// What components of a kind are built into.
pub trait Built {
    /// The kind.
    const KIND: ComponentKind;
}

/// Which component an error is about.
#[derive(Debug, Clone, Copy)]
pub struct ComponentName {
    kind: ComponentKind,
    name: &'static str,
}

impl ComponentName {
    /// The error for invalid settings.
    pub fn refuse(self, why: impl Into<String>) -> EngineError {
        self.refuse_key("", why)
    }

    /// The error for one setting, `losses.1` for one within a list.
    pub fn refuse_key(self, key: impl Into<String>, why: impl Into<String>) -> EngineError {
        let Self { kind, name } = self;
        EngineError::Settings { kind, name, key: key.into(), why: why.into() }
    }

    /// Settings as their struct, after names and ranges are checked.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read<T: DeserializeOwned>(self, params: &[Param], settings: Value) -> Result<T> {
        check_names(params, &settings).map_err(|why| self.refuse(why))?;
        for param in params {
            check_range(param, settings.field(&param.name)).map_err(|why| self.refuse(why))?;
        }
        from_value(settings).map_err(|error| self.refuse(error.to_string()))
    }
}

/// Settings that can be built into a `B`, given a context `C` of the host's.
pub trait Component<C: ?Sized, B: ?Sized + Built>: DeserializeOwned + Describe {
    /// Its `type =`.
    const NAME: &'static str;
    /// Other names for it.
    const ALIASES: &'static [&'static str] = &[];

    /// Builds it, or returns what is wrong with the settings.
    fn build(self, context: &C) -> Result<Box<B>>;

    /// The error for invalid settings.
    fn refuse(why: impl Into<String>) -> EngineError {
        Self::refuse_key("", why)
    }

    /// The error for one setting, `losses.1` for one within a list.
    fn refuse_key(key: impl Into<String>, why: impl Into<String>) -> EngineError {
        ComponentName { kind: B::KIND, name: Self::NAME }.refuse_key(key, why)
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
    pub build: fn(ComponentName, Value, &C) -> Result<Box<B>>,
}

impl<C: ?Sized, B: ?Sized + Built> Entry<C, B> {
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

fn build<C: ?Sized, B: ?Sized + Built, T: Component<C, B>>(
    subject: ComponentName,
    settings: Value,
    context: &C,
) -> Result<Box<B>> {
    subject.read::<T>(&T::params(), settings)?.build(context)
}

/// Serde alone accepts unknown keys if settings consist of several structs.
fn check_names(params: &[Param], settings: &Value) -> std::result::Result<(), String> {
    let Value::Table(fields) = settings else { return Ok(()) };
    let known: Vec<_> = params.iter().flat_map(Param::keys).collect();
    match fields.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, _)) => Err(format!("unknown field `{key}`: {}", hint(key, &known))),
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

/// Builds what a config chooses.
pub trait Build {
    /// Looks up a name in a registry and builds its component.
    ///
    /// # Errors
    /// The name is unknown, or the settings are invalid.
    fn build<C: ?Sized, B: ?Sized + Built>(
        &self,
        entries: &[Entry<C, B>],
        context: &C,
    ) -> Result<Box<B>>;
}

impl Build for Choice {
    fn build<C: ?Sized, B: ?Sized + Built>(
        &self,
        entries: &[Entry<C, B>],
        context: &C,
    ) -> Result<Box<B>> {
        let answers = |entry: &&Entry<C, B>| {
            entry.name == self.name || entry.aliases.contains(&self.name.as_str())
        };
        if let Some(entry) = entries.iter().find(answers) {
            let subject = ComponentName { kind: B::KIND, name: entry.name };
            return (entry.build)(subject, self.settings.clone(), context);
        }
        let known: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        let (name, hint) = (self.name.clone(), hint(&self.name, &known));
        Err(EngineError::UnknownType { kind: B::KIND, name, hint })
    }
}

/// The nearest name, or all of them.
fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::prelude::Settings;

    /// Holds a number.
    #[derive(Settings, Debug)]
    struct Number {
        /// The number.
        #[param(min = 0.0, max = 1.0)]
        value: f64,
    }

    impl Built for f64 {
        const KIND: ComponentKind = ComponentKind::Layer;
    }

    impl Component<f64, f64> for Number {
        const NAME: &'static str = "Number";
        fn build(self, context: &f64) -> Result<Box<f64>> {
            Ok(Box::new(self.value + context))
        }
    }

    static NUMBERS: &[Entry<f64, f64>] = &[Entry::of::<Number>()];

    fn build(name: &str, key: &str, value: f64) -> std::result::Result<f64, String> {
        Choice::new(name, &[(key, value.into())])
            .build(NUMBERS, &1.0)
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
            "no layer is named `Numbr`: did you mean `Number`?"
        );
        assert_eq!(text("Zebra", "value", 0.5), "no layer is named `Zebra`: there are Number");
        assert_eq!(text("Number", "value", 2.0), "layer `Number`: value = 2 is more than 1");
        assert_eq!(text("Number", "value", f64::NAN), "layer `Number`: value is not a number");
        assert_eq!(
            text("Number", "valu", 0.5),
            "layer `Number`: unknown field `valu`: did you mean `value`?"
        );
    }
}
