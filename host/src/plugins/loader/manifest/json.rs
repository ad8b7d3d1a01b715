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

    /// Fails with the names of the fields that a struct is read from.
    struct FieldNames;

    impl<'de> Deserializer<'de> for FieldNames {
        type Error = de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom("not a struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom(fields.join(" ")))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    /// The fields that have no row in their table of docs/abi.md.
    fn undocumented<'de, T: Deserialize<'de>>(heading: &str) -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/abi.md");
        let document = std::fs::read_to_string(path).unwrap();
        let (_, section) = document.split_once(heading).unwrap();
        let rows = section.lines().skip(1).skip_while(|line| line.is_empty());
        let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).collect();
        let fields = T::deserialize(FieldNames).err().unwrap().to_string();
        assert!(fields.contains("name"), "{fields}");
        let is_listed = |field: &str| {
            rows.iter().any(|row| row.split('|').nth(1).unwrap().contains(&format!("`{field}`")))
        };
        fields.split(' ').filter(|field| !is_listed(field)).map(str::to_owned).collect()
    }

    #[test]
    fn the_abi_document_lists_every_field_of_a_manifest() {
        assert_eq!(undocumented::<HookJson>("Fields of a hook:"), [""; 0]);
        assert_eq!(undocumented::<MetricJson>("Fields of a metric:"), [""; 0]);
        assert_eq!(undocumented::<ParamJson>("Fields of a parameter:"), [""; 0]);
    }

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
