//! The JSON format of manifests, before validation.

use super::param::ParamJson;
use hookrack_plugin_api::Level;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt;

/// A hook's manifest as it is written. Unknown keys are a newer plugin-api's.
#[derive(Deserialize)]
pub(super) struct HookJson {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) aliases: Vec<String>,
    #[serde(default)]
    pub(super) doc: String,
    pub(super) points: Vec<String>,
    #[serde(default)]
    pub(super) level: LevelJson,
    #[serde(default)]
    pub(super) every: String,
    #[serde(default)]
    pub(super) ranks: String,
    #[serde(default)]
    pub(super) state: bool,
    #[serde(default)]
    pub(super) mutates: Vec<String>,
    #[serde(default)]
    pub(super) reads: Vec<String>,
    #[serde(default)]
    pub(super) writes: Vec<String>,
    #[serde(default)]
    pub(super) ops: Vec<String>,
    #[serde(default)]
    pub(super) on_error: String,
    pub(super) params: Option<Vec<ParamJson>>,
}

/// A metric's manifest as it is written.
#[derive(Deserialize)]
pub(super) struct MetricJson {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) aliases: Vec<String>,
    #[serde(default)]
    pub(super) doc: String,
    #[serde(default)]
    pub(super) better: String,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) ops: Vec<String>,
    pub(super) params: Option<Vec<ParamJson>>,
}

/// A level as it is written: a number, or one of the names.
#[derive(Default)]
pub(super) struct LevelJson(pub(super) Level);

impl<'de> Deserialize<'de> for LevelJson {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(LevelVisitor)
    }
}

struct LevelVisitor;

impl Visitor<'_> for LevelVisitor {
    type Value = LevelJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a level's name, HIGHEST to LOWEST")
    }

    fn visit_i64<E: de::Error>(self, level: i64) -> Result<LevelJson, E> {
        Ok(LevelJson(Level(level)))
    }

    fn visit_u64<E: de::Error>(self, level: u64) -> Result<LevelJson, E> {
        let level = i64::try_from(level)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(level), &self))?;
        Ok(LevelJson(Level(level)))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<LevelJson, E> {
        Level::from_name(name)
            .map(LevelJson)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(name), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_number_or_a_name() {
        let level = |json| serde_json::from_str::<LevelJson>(json).map(|level| level.0);
        assert_eq!(level("-5").unwrap(), Level(-5));
        assert_eq!(level("\"low\"").unwrap(), Level::LOW);
        let message = level("\"lowish\"").unwrap_err().to_string();
        assert!(message.contains("HIGHEST to LOWEST") && message.contains("column 8"), "{message}");
        assert!(level("18446744073709551615").is_err());
    }
}
