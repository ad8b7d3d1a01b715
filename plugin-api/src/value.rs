//! A settings tree: the values of a config table.
//!
//! It is used for settings, for values that hooks share, and for the values of saved state.

mod tree;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use std::fmt;

/// One value of a settings tree.
///
/// Numbers keep their kind: `1` is an integer and `1.0` a float, also after a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer. A `u64` or `usize` above 2^63 - 1 becomes that number.
    Int(i64),
    /// A float; may be NaN or infinite.
    Float(f64),
    /// A text.
    Str(String),
    /// Values in order, of any kinds.
    List(Vec<Value>),
    /// Named values, in the order of the config. A key may occur twice; lookups find the
    /// first.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// Returns an empty table.
    pub fn empty() -> Self {
        Self::Table(Vec::new())
    }

    /// Returns the value of `key` in a table; `None` for another key or for a value that is not a table.
    /// Linear in the number of keys.
    pub fn field(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Table(fields) => fields.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Returns the kind of this value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "boolean",
            Self::Int(_) => "integer",
            Self::Float(_) => "float",
            Self::Str(_) => "string",
            Self::List(_) => "list",
            Self::Table(_) => "table",
        }
    }

    /// Returns the number in an integer or a float; `None` for any other value, also a string of digits.
    #[expect(clippy::cast_precision_loss, reason = "settings and counters stay far below 2^53")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(*i as f64),
            Self::Float(f) => Some(*f),
            _ => None,
        }
    }

    /// Returns the integer in an integer value; `None` for any other value, also a float without a fraction.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// Returns the text in a string value; `None` for any other value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(s) => Some(s),
            _ => None,
        }
    }

    /// Writes the value as JSON; a float that is not finite becomes a string. Appends to `out`, on one line.
    pub fn write_json(&self, out: &mut String) {
        use fmt::Write as _;
        match self {
            Self::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Self::Int(i) => _ = write!(out, "{i}"),
            Self::Float(f) if f.is_finite() => _ = write!(out, "{f:?}"),
            Self::Float(f) => _ = write!(out, "\"{f}\""),
            Self::Str(s) => write_json_text(s, out),
            Self::List(items) => {
                write_json_items('[', ']', items.iter(), out, Self::write_json);
            }
            Self::Table(fields) => {
                write_json_items('{', '}', fields.iter(), out, |(key, value), out| {
                    write_json_text(key, out);
                    out.push(':');
                    value.write_json(out);
                });
            }
        }
    }
}

/// Writes a JSON string with its quotes.
pub(crate) fn write_json_text(text: &str, out: &mut String) {
    use fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes `items` between two brackets, separated by commas.
pub(crate) fn write_json_items<T>(
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    out: &mut String,
    mut write: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),* $(,)?) => {
        $(impl From<$from> for Value {
            fn from(v: $from) -> Self { Self::$variant(v.into()) }
        })*
    };
}
value_from! { bool => Bool, i64 => Int, i32 => Int, u32 => Int, f64 => Float, f32 => Float, String => Str, &str => Str }

macro_rules! value_from_count {
    ($($from:ty),*) => {
        $(impl From<$from> for Value {
            /// A count; one above 2^63 - 1 is clamped to it.
            fn from(count: $from) -> Self { Self::Int(i64::try_from(count).unwrap_or(i64::MAX)) }
        })*
    };
}
value_from_count!(u64, usize);

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// Deserializes a settings tree.
///
/// An integer is accepted for a float, and for an integer type that holds it. A field of type `Option` may be
/// missing.
///
/// # Errors
/// The message names the field and says what was expected.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ValueError> {
    T::deserialize(value)
}

/// Why a settings tree could not be deserialized. The message begins with the key that leads to the value,
/// such as `` `betas.1`: ``, unless it is about the whole tree: the host shows it at that key of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    // The keys that lead to the value, such as `betas.1`; empty for the whole tree.
    path: String,
    message: String,
}

impl ValueError {
    /// The same error, of a value under this key.
    fn within(mut self, key: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path.insert_str(0, dot);
        self.path.insert_str(0, key);
        self
    }
}

impl fmt::Display for ValueError {
    /// The host shows a message that begins so at the key itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

impl de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: String::new(), message: message.to_string() }
    }
}

/// The fields of a table, whose errors know their key.
struct Fields {
    rest: std::vec::IntoIter<(String, Value)>,
    current: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.current = self.rest.next();
        let Some((key, _)) = &self.current else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ValueError> {
        let Some((key, value)) = self.current.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(value).map_err(|error| error.within(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The items of a list, whose errors know their number.
struct Items {
    rest: std::iter::Enumerate<std::vec::IntoIter<Value>>,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        seed.deserialize(value).map(Some).map_err(|error| error.within(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

impl IntoDeserializer<'_, ValueError> for Value {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> de::Deserializer<'de> for Value {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::Bool(b) => visitor.visit_bool(b),
            Self::Int(i) => visitor.visit_i64(i),
            Self::Float(f) => visitor.visit_f64(f),
            Self::Str(s) => visitor.visit_string(s),
            Self::List(items) => visit_list(items, visitor),
            Self::Table(fields) => {
                visitor.visit_map(Fields { rest: fields.into_iter(), current: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self {
            Self::Str(variant) => visitor.visit_enum(variant.into_deserializer()),
            other => Err(de::Error::custom(format!("expected a name, found a {}", other.kind()))),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A list that is longer than what takes it is an error, as for serde's own formats.
fn visit_list<'de, V: Visitor<'de>>(items: Vec<Value>, visitor: V) -> Result<V::Value, ValueError> {
    let len = items.len();
    let mut list = Items { rest: items.into_iter().enumerate() };
    let value = visitor.visit_seq(&mut list)?;
    let left = list.rest.len();
    if left > 0 {
        let wanted = len - left;
        return Err(de::Error::custom(format!("expected {wanted} values, found {len}")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_the_struct_that_describes_it() {
        #[derive(serde::Deserialize, Debug, PartialEq)]
        #[serde(deny_unknown_fields)]
        struct Settings {
            momentum: f64,
            hidden: Vec<i64>,
            label: Option<String>,
        }
        let table = Value::Table(vec![
            ("momentum".into(), 1i64.into()),
            ("hidden".into(), vec![64i64, 32].into()),
        ]);
        let expected = Settings { momentum: 1.0, hidden: vec![64, 32], label: None };
        assert_eq!(from_value::<Settings>(table), Ok(expected));
        let wrong = Value::Table(vec![("momentun".into(), 1i64.into())]);
        let error = from_value::<Settings>(wrong).unwrap_err().to_string();
        assert!(error.contains("unknown field `momentun`"), "{error}");
    }

    #[test]
    fn an_error_names_the_key_that_leads_to_the_value() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only what is refused is looked at")]
        struct Settings {
            small: Option<u8>,
            betas: Option<(f64, f64)>,
            names: Option<std::collections::HashMap<String, u64>>,
        }
        let text = |key: &str, value: Value| {
            from_value::<Settings>(Value::Table(vec![(key.into(), value)])).unwrap_err().to_string()
        };
        assert!(text("small", 300.into()).starts_with("`small`: invalid value"));
        let betas = Value::List(vec![0.9.into(), "x".into()]);
        assert!(text("betas", betas).starts_with("`betas.1`: invalid type"));
        let three = vec![0.1, 0.2, 0.3].into();
        assert_eq!(text("betas", three), "`betas`: expected 2 values, found 3");
        let names = Value::Table(vec![("a".into(), (-1).into())]);
        assert!(text("names", names).starts_with("`names.a`: invalid value"));
        assert!(text("unknown", 1.into()).starts_with("unknown field"));
    }

    #[test]
    fn json_text_is_escaped() {
        let mut out = String::new();
        Value::Table(vec![(
            "a\"b".into(),
            Value::List(vec![Value::Str("x\n\u{1}".into()), 0.5.into()]),
        )])
        .write_json(&mut out);
        assert_eq!(out, r#"{"a\"b":["x\n\u0001",0.5]}"#);
    }
}
