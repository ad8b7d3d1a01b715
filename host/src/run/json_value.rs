//! Settings trees in JSON files.

use hookrack_plugin_api::Value;
use serde_json::Value as Json;

/// A settings tree as JSON. A number that JSON cannot represent becomes a string.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(i) => Json::from(*i),
        Value::Float(f) if f.is_finite() => Json::from(*f),
        // Tagged, so that it comes back as a number.
        Value::Float(f) => serde_json::json!({ "float": f.to_string() }),
        Value::Str(s) => Json::String(s.clone()),
        Value::List(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Table(fields) => match fields.as_slice() {
            [(key, value)] if is_tag(key) => {
                Json::Object([(format!("\\{key}"), to_json(value))].into_iter().collect())
            }
            fields => Json::Object(fields.iter().map(|(k, v)| (k.clone(), to_json(v))).collect()),
        },
    }
}

/// A settings tree from JSON; `None` for null.
pub fn from_json(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => match n.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(n.as_f64()?),
        },
        Json::String(s) => Value::Str(s.clone()),
        Json::Array(items) => Value::List(items.iter().filter_map(from_json).collect()),
        Json::Object(fields) => match not_finite(fields) {
            Some(float) => Value::Float(float),
            None => Value::Table(
                fields
                    .iter()
                    .filter_map(|(key, value)| {
                        let key = if fields.len() == 1 { untagged(key) } else { key };
                        Some((key.to_owned(), from_json(value)?))
                    })
                    .collect(),
            ),
        },
    })
}

/// Whether a table with only this key could be mistaken for a tagged number; it is then written with a `\` before the key.
fn is_tag(key: &str) -> bool {
    key.trim_start_matches('\\') == "float"
}

/// The original key of a table with only this key.
fn untagged(key: &str) -> &str {
    key.strip_prefix('\\').filter(|rest| is_tag(rest)).unwrap_or(key)
}

fn not_finite(fields: &serde_json::Map<String, Json>) -> Option<f64> {
    if fields.len() != 1 {
        return None;
    }
    fields.get("float")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_looks_like_a_number_stays_a_table() {
        for key in ["float", "\\float", "\\\\float", "\\other", ""] {
            for inner in [Value::from("inf"), 1i64.into(), f64::NAN.into()] {
                let value = Value::Table(vec![(key.to_owned(), inner)]);
                let text = to_json(&value).to_string();
                let back = from_json(&serde_json::from_str(&text).unwrap()).unwrap();
                assert_eq!(format!("{back:?}"), format!("{value:?}"), "{text}");
            }
        }
    }

    #[test]
    fn every_value_comes_back_infinities_included() {
        let value = Value::Table(vec![
            ("best".into(), f64::NEG_INFINITY.into()),
            ("whole".into(), 2.0.into()),
            ("count".into(), 3i64.into()),
            ("list".into(), vec!["a", "b"].into()),
        ]);
        let text = to_json(&value).to_string();
        assert_eq!(from_json(&serde_json::from_str(&text).unwrap()), Some(value));
    }
}
