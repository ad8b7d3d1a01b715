//! What the author knows and a case cannot guess: settings of hooks and metrics, and the shape of a sample.

use crate::plugins::Library;
use hookrack_plugin_api::{Param, Presence, Value};
use std::str::FromStr;

/// The settings and data that every case uses.
#[derive(Clone, Debug)]
pub struct Given {
    /// Settings that are not generated.
    pub settings: Vec<GivenSetting>,
    /// The shape of a sample.
    pub shape: Vec<i64>,
}

impl Default for Given {
    fn default() -> Self {
        Self { settings: Vec::new(), shape: vec![4] }
    }
}

/// A setting of a hook or metric: `CutMix.classes=3`.
#[derive(Clone, Debug)]
pub struct GivenSetting {
    /// The hook's or metric's name.
    of: String,
    key: String,
    value: Value,
}

impl FromStr for GivenSetting {
    type Err = String;

    /// The value is one of TOML, and otherwise a string, because shells remove quotes.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(path, value)| {
            let (of, key) = path.trim().split_once('.')?;
            Some((of, key, value.trim()))
        });
        let Some((of, key, value)) = parts else {
            return Err(format!("`{text}` is not of the form TYPE.KEY=VALUE"));
        };
        let parsed = toml::from_str::<Value>(&format!("value = {value}")).ok();
        let value = match parsed {
            Some(Value::Table(mut fields)) if fields.len() == 1 => fields.remove(0).1,
            _ => Value::Str(value.to_owned()),
        };
        Ok(Self { of: of.to_owned(), key: key.to_owned(), value })
    }
}

impl Given {
    /// The settings of a hook or metric.
    pub(super) fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let own = self.settings.iter().filter(move |it| it.of == name);
        own.map(|it| (it.key.as_str(), &it.value))
    }

    /// Makes the settings of a hook or metric the defaults of its parameters.
    pub(super) fn as_defaults(&self, name: &str, params: &mut [Param]) {
        for param in params {
            if let Some((_, value)) = self.of(name).find(|(key, _)| *key == param.name) {
                param.presence = Presence::Default(value.clone());
            }
        }
    }

    /// Whether the library has everything that is set.
    pub(super) fn check(&self, library: &Library) -> Result<(), String> {
        for setting in &self.settings {
            let hook = library.hooks.iter().find(|it| it.name() == setting.of);
            let metric = library.metrics.iter().find(|it| it.name() == setting.of);
            let params = match (hook, metric) {
                (Some(hook), _) => hook.manifest.params.as_deref(),
                (None, Some(metric)) => metric.manifest.params.as_deref(),
                (None, None) => {
                    return Err(format!(
                        "--set: the library has no hook or metric `{}`",
                        setting.of
                    ));
                }
            };
            if !params.unwrap_or_default().iter().any(|param| param.name == setting.key) {
                return Err(format!("--set: `{}` has no setting `{}`", setting.of, setting.key));
            }
        }
        Ok(())
    }
}

/// A value as a config writes it.
pub(super) fn toml_of(value: &Value) -> String {
    match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Str(text) => toml::Value::String(text.clone()).to_string(),
        Value::List(items) => {
            format!("[{}]", items.iter().map(toml_of).collect::<Vec<_>>().join(", "))
        }
        Value::Table(fields) => {
            let key = |key: &str| toml::Value::String(key.to_owned()).to_string();
            let fields =
                fields.iter().map(|(name, value)| format!("{} = {}", key(name), toml_of(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GivenSetting, toml_of};
    use hookrack_plugin_api::Value;

    #[test]
    fn a_value_is_one_of_toml_or_a_string_and_a_config_reads_it_back() {
        for (text, wanted) in [
            ("A.n=3", Value::Int(3)),
            ("A.n=trial", Value::Str("trial".into())),
            ("A.n=[\"a\", \"b\"]", Value::List(vec!["a".into(), "b".into()])),
            ("A.n={ x = 1.5 }", Value::Table(vec![("x".into(), Value::Float(1.5))])),
        ] {
            let read: GivenSetting = text.parse().unwrap();
            assert_eq!((read.of.as_str(), read.key.as_str(), &read.value), ("A", "n", &wanted));
            let again: GivenSetting = format!("A.n={}", toml_of(&wanted)).parse().unwrap();
            assert_eq!(again.value, wanted);
        }
        for text in ["A=3", "A.n", "n=3"] {
            assert!(text.parse::<GivenSetting>().is_err(), "{text}");
        }
    }
}
