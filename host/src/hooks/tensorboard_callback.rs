//! `TensorBoardCallback`: event files, written as often as Orca's callback says.

use hookrack_plugin_api::describe::{ParamType, Setting};
use hookrack_plugin_api::prelude::*;
use serde::de::{Deserializer, Error as _, Visitor};
use std::fmt;

/// Writes TensorBoard event files, and sets how often scalars go to files: after each epoch, each batch, or every few
/// batches.
#[derive(Settings)]
pub(super) struct TensorBoardCallback {
    /// Folder of the event files, absolute or relative to the run directory.
    #[param(default = "tb")]
    log_dir: String,
    /// How often scalars are written to files, besides what the default `logger` does: `"epoch"`, `"batch"`, or a
    /// number of batches. The console is not affected.
    #[param(default)]
    freq: Freq,
}

/// How often scalars are written to files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Freq {
    /// After each epoch, and its evaluation.
    #[default]
    Epoch,
    /// After this many batches.
    Batches(u64),
}

const FREQ: &str = "\"epoch\", \"batch\" or a number of batches of at least 1";

struct FreqVisitor;

impl Visitor<'_> for FreqVisitor {
    type Value = Freq;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FREQ)
    }

    fn visit_i64<E: serde::de::Error>(self, batches: i64) -> std::result::Result<Freq, E> {
        let batches = u64::try_from(batches).ok().filter(|batches| *batches > 0);
        batches.map(Freq::Batches).ok_or_else(|| E::custom(format!("freq must be {FREQ}")))
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> std::result::Result<Freq, E> {
        match word {
            "epoch" => Ok(Freq::Epoch),
            "batch" => Ok(Freq::Batches(1)),
            _ => Err(E::custom(format!("freq must be {FREQ}, not `{word}`"))),
        }
    }
}

impl<'de> Deserialize<'de> for Freq {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(FreqVisitor).map_err(D::Error::custom)
    }
}

impl Setting for Freq {
    fn param_type() -> ParamType {
        ParamType::Any
    }

    fn to_value(&self) -> Option<Value> {
        Some(match self {
            Self::Epoch => "epoch".into(),
            Self::Batches(batches) => i64::try_from(*batches).ok()?.into(),
        })
    }
}

#[hook(level = 52, ranks = "main", reads = "events, metrics", on_error = "abort")]
impl Hook for TensorBoardCallback {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        t.open_writer("tensorboard", &self.log_dir)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        match self.freq {
            Freq::Batches(batches) if t.iter().is_multiple_of(batches) => t.record_events(),
            Freq::Batches(_) | Freq::Epoch => Ok(()),
        }
    }

    fn after_cycle(&mut self, t: &mut Trainer) -> Result<()> {
        t.write_events()
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        t.write_events()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::from_value;

    #[test]
    fn a_frequency_is_a_word_or_a_number_of_batches() {
        let read = |value: Value| from_value::<Freq>(value).map_err(|error| error.to_string());
        assert_eq!(read("epoch".into()), Ok(Freq::Epoch));
        assert_eq!(read("batch".into()), Ok(Freq::Batches(1)));
        assert_eq!(read(10i64.into()), Ok(Freq::Batches(10)));
        for wrong in [Value::from("step"), Value::from(0i64), Value::from(-1i64), Value::from(1.5)]
        {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("number of batches of at least 1"), "{error}");
        }
        assert_eq!(Freq::default().to_value(), Some("epoch".into()));
    }
}
