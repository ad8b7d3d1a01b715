//! A table with a `type`: a component and its settings.

use crate::value::Value;

/// A component chosen by `type`: a model, a loss, a schedule, with its settings. Whether such a component
/// exists is not checked here.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The `type`.
    pub name: String,
    /// The other keys, a table, in the order of the config.
    pub settings: Value,
}

impl Choice {
    /// Returns a choice with some settings.
    pub fn new(name: &str, settings: &[(&str, Value)]) -> Self {
        let fields = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Self { name: name.to_owned(), settings: Value::Table(fields.collect()) }
    }

    /// Sets a setting, replacing a previous value. Does nothing if the settings are not a table.
    pub fn set(&mut self, key: &str, value: Value) {
        let Value::Table(settings) = &mut self.settings else { return };
        match settings.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => settings.push((key.to_owned(), value)),
        }
    }

    /// Converts a table with a `type`; `what` is the kind of component, for the error message.
    ///
    /// # Errors
    /// It is not a table, or has no `type`.
    pub fn from_table(what: &str, table: Value) -> Result<Self, String> {
        let Value::Table(mut settings) = table else {
            return Err(format!("expected a table with a `type`, found {}", table.kind()));
        };
        let place = settings.iter().position(|(key, _)| key == "type");
        match place.map(|place| settings.remove(place).1) {
            Some(Value::Str(name)) => Ok(Self { name, settings: Value::Table(settings) }),
            _ => Err(format!("missing `type`, the name of a {what}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_a_type_is_a_choice_and_another_is_not() {
        let table = |fields: &[(&str, Value)]| {
            Value::Table(fields.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect())
        };
        let mut mlp =
            Choice::from_table("model", table(&[("type", "MLP".into()), ("x", 1.into())]));
        assert_eq!(mlp, Ok(Choice::new("MLP", &[("x", 1.into())])));
        if let Ok(mlp) = &mut mlp {
            mlp.set("x", 2.into());
            mlp.set("y", 3.into());
            assert_eq!(*mlp, Choice::new("MLP", &[("x", 2.into()), ("y", 3.into())]));
        }
        let without = Choice::from_table("model", table(&[("x", 1.into())])).unwrap_err();
        assert_eq!(without, "missing `type`, the name of a model");
        let number = Choice::from_table("model", Value::Int(1)).unwrap_err();
        assert_eq!(number, "expected a table with a `type`, found integer");
    }
}
