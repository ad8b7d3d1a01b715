//! The parameters in a manifest, from JSON to what a config is checked against.

use hookrack_plugin_api::{Param, ParamType, Presence, Value};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::fmt;

/// A parameter as the manifest writes it.
#[derive(Deserialize)]
pub(super) struct ParamJson {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    doc: String,
    #[serde(rename = "type", default = "any")]
    ty: TypeJson,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default: Option<serde_json::Value>,
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: Option<f64>,
    #[serde(default)]
    infinite: bool,
}

/// A parameter's type as the manifest writes it: a name, or an object with one key.
struct TypeJson(ParamType);

fn any() -> TypeJson {
    TypeJson(ParamType::Any)
}

impl From<ParamJson> for Param {
    fn from(json: ParamJson) -> Self {
        let TypeJson(ty) = json.ty;
        let presence = match json.default.and_then(|default| value(default, &ty)) {
            Some(default) => Presence::Default(default),
            None if json.required => Presence::Required,
            None => Presence::Optional,
        };
        let ParamJson { name, aliases, doc, min, max, infinite, .. } = json;
        let max = max.or(infinite.then_some(f64::INFINITY));
        Self { name, aliases, doc, ty, presence, min, max }
    }
}

/// A default of a parameter of type `ty`; `None` for null. JSON has no infinities, so they come as text.
fn value(json: serde_json::Value, ty: &ParamType) -> Option<Value> {
    use serde_json::Value as Json;
    let item = match ty {
        ParamType::List(item) => item,
        other => other,
    };
    Some(match json {
        Json::Null => return None,
        Json::Bool(b) => Value::Bool(b),
        Json::Number(number) => match number.as_i64() {
            Some(int) if *ty != ParamType::Float => Value::Int(int),
            _ => Value::Float(number.as_f64()?),
        },
        Json::String(text) => match text.parse() {
            Ok(float) if *ty == ParamType::Float => Value::Float(float),
            _ => Value::Str(text),
        },
        Json::Array(items) => {
            Value::List(items.into_iter().filter_map(|json| value(json, item)).collect())
        }
        Json::Object(fields) => {
            let field = |(key, json)| Some((key, value(json, &ParamType::Any)?));
            Value::Table(fields.into_iter().filter_map(field).collect())
        }
    })
}

impl<'de> Deserialize<'de> for TypeJson {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(TypeVisitor)
    }
}

struct TypeVisitor;

impl<'de> Visitor<'de> for TypeVisitor {
    type Value = TypeJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "\"bool\", \"int\", \"float\", \"string\", \"path\", \"monitor\", \"model\", \"any\", {\"one_of\": […]}, {\"list\": …} or {\"table\": […]}",
        )
    }

    /// A type that only a newer plugin-api knows is treated as `any`.
    fn visit_str<E: de::Error>(self, name: &str) -> Result<TypeJson, E> {
        Ok(TypeJson(match name {
            "bool" => ParamType::Bool,
            "int" => ParamType::Int,
            "float" => ParamType::Float,
            "string" => ParamType::Str,
            "path" => ParamType::Path,
            "monitor" => ParamType::Monitor,
            "model" => ParamType::Model,
            _ => ParamType::Any,
        }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TypeJson, A::Error> {
        let Some(kind) = map.next_key::<String>()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let ty = match kind.as_str() {
            "one_of" => ParamType::OneOf(map.next_value()?),
            "list" => ParamType::List(Box::new(map.next_value::<TypeJson>()?.0)),
            "table" => {
                let params: Vec<ParamJson> = map.next_value()?;
                ParamType::Table(params.into_iter().map(Param::from).collect())
            }
            _ => {
                map.next_value::<de::IgnoredAny>()?;
                ParamType::Any
            }
        };
        while map.next_entry::<de::IgnoredAny, de::IgnoredAny>()?.is_some() {}
        Ok(TypeJson(ty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(json: &str) -> Param {
        serde_json::from_str::<ParamJson>(json).unwrap().into()
    }

    #[test]
    fn a_default_takes_the_type_of_its_parameter() {
        let default = |json| param(json).presence;
        let float = |f| Presence::Default(Value::Float(f));
        assert_eq!(default(r#"{"name":"a","type":"float","default":1}"#), float(1.0));
        assert_eq!(
            default(r#"{"name":"a","type":"float","default":"-inf"}"#),
            float(f64::NEG_INFINITY)
        );
        assert_eq!(
            default(r#"{"name":"a","type":"int","default":1}"#),
            Presence::Default(1.into())
        );
        let list = Presence::Default(Value::List(vec![Value::Float(1.0)]));
        assert_eq!(default(r#"{"name":"a","type":{"list":"float"},"default":[1]}"#), list);
        assert_eq!(
            default(r#"{"name":"a","type":"string","default":"inf"}"#),
            Presence::Default("inf".into())
        );
        assert_eq!(default(r#"{"name":"a","default":null}"#), Presence::Optional);
        assert_eq!(default(r#"{"name":"a","required":true}"#), Presence::Required);
    }

    #[test]
    fn a_type_from_the_future_is_any() {
        assert_eq!(param(r#"{"name":"a","type":"duration"}"#).ty, ParamType::Any);
        assert_eq!(param(r#"{"name":"a","type":{"map":"int","of":[1]}}"#).ty, ParamType::Any);
        let nested = r#"{"name":"a","type":{"table":[{"name":"b","type":{"one_of":["x"]}}]}}"#;
        let ParamType::Table(fields) = param(nested).ty else { panic!("a table") };
        assert_eq!(fields[0].ty, ParamType::OneOf(vec!["x".into()]));
    }
}
