//! Floats in JSON, to the last bit: numbers that JSON cannot represent are strings.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

/// Writes a number, or null.
#[expect(clippy::ref_option, reason = "serde's signature")]
pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        None => to.serialize_none(),
        Some(value) if value.is_finite() => to.serialize_f64(*value),
        Some(value) => to.serialize_str(&value.to_string()),
    }
}

/// Reads it back.
pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<f64>, D::Error> {
    match Option::<NumberOrText>::deserialize(from)? {
        None => Ok(None),
        Some(NumberOrText::Number(value)) => Ok(Some(value)),
        Some(NumberOrText::Text(text)) => text.parse().map(Some).map_err(D::Error::custom),
    }
}
