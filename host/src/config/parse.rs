//! Text to tree: TOML with the place of every key and value.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::error::{ConfigError, ConfigErrors, Fault};
use super::fixed::DELETE;
use super::origin::{Document, Origin};
use super::tree::{Delete, Entry, Item, Node, Table};

/// Parses a whole document.
pub(super) fn parse_document(document: &Arc<Document>) -> Result<Node, ConfigErrors> {
    let parsed = DeTable::parse(&document.text)
        .map_err(|error| syntax_error(document, &error, &document.text))?;
    let mut builder = Builder { document, offset: 0, errors: ConfigErrors::default() };
    let table = builder.table(parsed.get_ref());
    let root = Node::table(table, Origin::at(document, 0..0));
    builder.errors.or(Some(root))
}

/// Parses a part of a document as a value, if it is one.
pub(super) fn parse_value(
    document: &Arc<Document>,
    part: Range<usize>,
) -> Option<Result<Node, ConfigErrors>> {
    let offset = part.start;
    let parsed = DeValue::parse(&document.text[part]).ok()?;
    let mut builder = Builder { document, offset, errors: ConfigErrors::default() };
    let node = builder.node(&parsed);
    Some(builder.errors.or(node))
}

struct Builder<'a> {
    document: &'a Arc<Document>,
    offset: usize,
    errors: ConfigErrors,
}

impl Builder<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin::at(self.document, span.start + self.offset..span.end + self.offset)
    }

    fn table(&mut self, parsed: &DeTable<'_>) -> Table {
        let mut table = Table::default();
        for (key, value) in parsed {
            let key_origin = self.origin(&key.span());
            let Some(node) = self.node(value) else { continue };
            if key.get_ref() == DELETE {
                table.delete = self.delete(&node, key_origin);
            } else {
                let key = key.get_ref().to_string();
                table.entries.push(Entry { key, key_origin, node });
            }
        }
        // The parser sorts by name; messages and resolved lists follow the file.
        table.entries.sort_by_key(|entry| entry.key_origin.reading_position());
        table
    }

    fn delete(&mut self, node: &Node, origin: Origin) -> Option<Delete> {
        match node.item {
            Item::Bool(true) => Some(Delete { origin, used: false }),
            Item::Bool(false) => None,
            _ => {
                self.errors.add(&node.origin, Fault::DeleteNotBool { found: node.kind() });
                None
            }
        }
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Node> {
        let origin = self.origin(&value.span());
        let item = match value.get_ref() {
            DeValue::String(text) => Item::Str(text.to_string()),
            DeValue::Integer(integer) => match integer_value(integer) {
                Some(value) => Item::Int(value),
                None => return self.too_large(&origin, integer.to_string()),
            },
            DeValue::Float(float) => match float_value(float.as_str()) {
                Some(value) => Item::Float(value),
                None => return self.too_large(&origin, float.as_str().to_owned()),
            },
            DeValue::Boolean(value) => Item::Bool(*value),
            DeValue::Datetime(date) => {
                self.errors.add(&origin, Fault::DateValue { found: date.to_string() });
                return None;
            }
            DeValue::Array(values) => {
                Item::List(values.iter().filter_map(|value| self.node(value)).collect())
            }
            DeValue::Table(table) => Item::Table(self.table(table)),
        };
        Some(Node { item, origin })
    }

    fn too_large(&mut self, at: &Origin, found: String) -> Option<Node> {
        self.errors.add(at, Fault::NumberTooLarge { found });
        None
    }
}

fn integer_value(integer: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// `1e999` parses to infinity; only a written `inf` may be infinite.
fn float_value(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() || !text.contains(['e', 'E', '.']))
}

pub(super) fn syntax_error(
    document: &Arc<Document>,
    error: &toml::de::Error,
    text: &str,
) -> ConfigErrors {
    let span = error.span().unwrap_or(0..text.len().min(1));
    // An empty span at the very start would mean the document as a whole.
    let span = if span == (0..0) { 0..text.len().min(1) } else { span };
    let (message, help) = plain_words(error.message(), text.get(span.clone()).unwrap_or_default());
    ConfigError::at(&Origin::at(document, span), Fault::Syntax { message, help }).into()
}

/// The parser's message, with a clearer one for common mistakes.
fn plain_words(message: &str, found: &str) -> (String, Option<&'static str>) {
    let unquoted = message.starts_with("string values must be quoted")
        || message.starts_with("invalid boolean") && is_bare_word(found);
    match message {
        "duplicate key" => (
            format!("key `{found}` is defined twice"),
            Some("keep one; to change a value of a base, write it in the file that names the base"),
        ),
        _ if unquoted && found.trim().is_empty() => ("a key has no value".into(), None),
        _ if unquoted => ("string values must be quoted".into(), Some("put the value in quotes")),
        "invalid basic string, expected `\"`" | "invalid literal string, expected `'`" => {
            ("a string is not closed".into(), Some("end it with the quote it starts with"))
        }
        message if message.starts_with("missing escaped value") => (
            "unknown escape sequence".into(),
            Some("a backslash is written `\\\\`, or use single quotes"),
        ),
        message => (message.to_owned(), None),
    }
}

fn is_bare_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
}
