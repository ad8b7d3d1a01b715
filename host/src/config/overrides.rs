//! `-s key.path=value`: values from the command line, merged over the file.

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, ConfigErrors, Fault};
use super::fixed::BASE;
use super::merge::merge;
use super::origin::{Document, DocumentKind, Origin};
use super::parse::parse_value;
use super::tree::{Item, Node, Table};

/// Why an override could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OverrideFault {
    /// `train.batch_size`
    #[error("it has no `=`")]
    NoEquals,
    /// `=3`
    #[error("it has no key")]
    NoKey,
    /// `train..x=3`
    #[error("its key is not a key path")]
    BadKey,
    /// A path deeper than any config.
    #[error("its key path is too deep")]
    TooDeep,
}

/// The deepest key path; a config has no use for more.
const DEEPEST: usize = 32;

/// One part of a key path.
struct Step {
    key: String,
    origin: Origin,
}

/// One parsed override.
struct Override {
    steps: Vec<Step>,
    value: Node,
}

/// Merges the overrides over the tree in order.
pub(super) fn apply(
    mut tree: Node,
    overrides: &[String],
    current: &Path,
    order: usize,
) -> Result<Node, ConfigErrors> {
    let mut errors = ConfigErrors::default();
    for (index, text) in overrides.iter().enumerate() {
        let document = Arc::new(Document {
            shown: "-s".into(),
            text: text.clone(),
            dir: current.to_owned(),
            order: order + index,
            kind: DocumentKind::Override(index + 1),
        });
        match read_override(&document) {
            Ok(read) => {
                set(&mut tree, &read.steps, read.value, &PathSoFar::top(&document))
                    .unwrap_or_else(|error| errors.push(error));
            }
            Err(wrong) => errors.append(wrong),
        }
    }
    errors.or(Some(tree))
}

fn read_override(document: &Arc<Document>) -> Result<Override, ConfigErrors> {
    let whole = || Origin::at(document, 0..document.text.len());
    let fault = |fault| ConfigError::at(&whole(), Fault::OverrideSyntax { fault });
    let equals = equals_sign(&document.text).ok_or_else(|| fault(OverrideFault::NoEquals))?;
    let steps = read_path(document, &document.text[..equals]).map_err(fault)?;
    if let Some(step) = steps.first().filter(|step| step.key == BASE) {
        return Err(ConfigError::at(&step.origin, Fault::OverrideBase).into());
    }
    // Spaces around a value, as in `-s "a = 3"`, are not part of it.
    let value = document.text[equals + 1..].trim_start();
    let start = document.text.len() - value.len();
    let part = start..start + value.trim_end().len();
    // `-s model.type=MLP`: shells eat quotes, so a bare word is a string.
    let bare = || Ok(Node::str(&document.text[part.clone()], Origin::at(document, part.clone())));
    let value = parse_value(document, part.clone()).unwrap_or_else(bare)?;
    Ok(Override { steps, value })
}

/// The first `=` outside quotes.
fn equals_sign(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '=') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

/// A key path is what TOML calls a dotted key, so TOML reads it.
fn read_path(document: &Arc<Document>, path: &str) -> Result<Vec<Step>, OverrideFault> {
    if path.trim().is_empty() {
        return Err(OverrideFault::NoKey);
    }
    if path.contains(['\n', '[', '#']) {
        return Err(OverrideFault::BadKey);
    }
    if path.matches('.').count() >= DEEPEST {
        return Err(OverrideFault::TooDeep);
    }
    let line = format!("{path}=0");
    let parsed = DeTable::parse(&line).map_err(|_| OverrideFault::BadKey)?;
    let mut steps = Vec::new();
    let mut table = parsed.get_ref();
    while let Some((key, value)) = table.iter().next() {
        let origin = Origin::at(document, key.span());
        steps.push(Step { key: key.get_ref().to_string(), origin });
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Ok(steps)
}

/// The part of the path that has been followed.
struct PathSoFar {
    path: String,
    /// The last step, or the whole override before the first.
    at: Origin,
}

impl PathSoFar {
    fn top(document: &Arc<Document>) -> Self {
        Self { path: String::new(), at: Origin::at(document, 0..document.text.len()) }
    }

    fn enter(&self, step: &Step) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { path: format!("{}{dot}{}", self.path, step.key), at: step.origin.clone() }
    }
}

/// List entries are selected by index or name; missing tables are created.
/// Whether a table is valid there is checked later, against the description.
fn set(
    node: &mut Node,
    steps: &[Step],
    value: Node,
    so_far: &PathSoFar,
) -> Result<(), ConfigError> {
    let Some((step, rest)) = steps.split_first() else {
        let under = std::mem::replace(node, Node::empty());
        *node = merge(under, value);
        return Ok(());
    };
    let inner = so_far.enter(step);
    if let Item::List(entries) = &mut node.item {
        return set(find_entry(entries, step, &so_far.path)?, rest, value, &inner);
    }
    // A missing list entry is always a mistake.
    let is_empty_list = matches!(so_far.path.as_str(), "custom_hooks" | "metrics");
    if is_empty_list && node.as_table().is_some_and(|table| table.entries.is_empty()) {
        return Err(no_entry(step, &so_far.path, &[]));
    }
    if node.as_table().is_none() {
        *node = Node::table(Table::default(), so_far.at.clone());
    }
    let Item::Table(table) = &mut node.item else { return Ok(()) };
    set(child(table, step, rest.is_empty()), rest, value, &inner)
}

/// The value of a key, created if missing.
fn child<'a>(table: &'a mut Table, step: &Step, is_last: bool) -> &'a mut Node {
    let at = table.entries.iter().position(|entry| entry.key == step.key);
    let at = at.unwrap_or_else(|| {
        let made = Node::table(Table::default(), step.origin.clone());
        table.push(&step.key, step.origin.clone(), made);
        table.entries.len() - 1
    });
    let entry = &mut table.entries[at];
    if is_last {
        entry.key_origin = step.origin.clone();
    }
    &mut entry.node
}

fn find_entry<'a>(
    entries: &'a mut [Node],
    step: &Step,
    path: &str,
) -> Result<&'a mut Node, ConfigError> {
    let names: Vec<_> = entries.iter().map(entry_name).collect();
    let index = match step.key.parse::<usize>() {
        Ok(index) => Some(index),
        Err(_) => names.iter().position(|name| name.as_deref() == Some(step.key.as_str())),
    };
    match index.and_then(|index| entries.get_mut(index)) {
        Some(entry) => Ok(entry),
        None => Err(no_entry(step, path, &names)),
    }
}

/// Entries such as numbers have no names.
fn no_entry(step: &Step, list: &str, entries: &[Option<String>]) -> ConfigError {
    let (list, wanted) = (list.to_owned(), step.key.clone());
    let names = entries.iter().flatten().cloned().collect();
    let len = entries.len();
    ConfigError::at(&step.origin, Fault::OverrideEntry { list, wanted, len, names })
}

/// The instance name of an entry, by default its type.
fn entry_name(entry: &Node) -> Option<String> {
    let table = entry.as_table()?;
    table.str("name").or_else(|| table.str("type")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::tree_of;

    fn with(file: &str, overrides: &[&str]) -> Result<String, String> {
        let overrides: Vec<_> = overrides.iter().map(|text| (*text).to_owned()).collect();
        apply(tree_of(file), &overrides, Path::new("/here"), 1)
            .map(|tree| format!("{:?}", tree.to_value()))
            .map_err(|errors| errors.to_string())
    }

    fn is(file: &str) -> String {
        format!("{:?}", tree_of(file).to_value())
    }

    #[test]
    fn a_value_is_toml_or_else_a_string() {
        assert_eq!(with("", &["a=3"]).unwrap(), is("a = 3"));
        assert_eq!(with("", &["a=[1, 2]"]).unwrap(), is("a = [1, 2]"));
        assert_eq!(with("", &["a=MLP"]).unwrap(), is("a = 'MLP'"));
        assert_eq!(with("", &["a='x=y'"]).unwrap(), is("a = 'x=y'"));
        assert_eq!(with("", &["a="]).unwrap(), is("a = ''"));
        assert_eq!(with("", &["a = 3 ", " b=\n[1, 2]\n"]).unwrap(), is("a = 3\nb = [1, 2]"));
        assert_eq!(with("", &["a = ' x '", "b = MLP "]).unwrap(), is("a = ' x '\nb = 'MLP'"));
    }

    #[test]
    fn a_path_goes_through_tables() {
        assert_eq!(
            with("[a]\nx = 1\ny = 2", &["a.y=3", "a.b.c=4"]).unwrap(),
            is("a = {x=1, y=3, b={c=4}}")
        );
    }

    #[test]
    fn a_table_is_merged() {
        assert_eq!(with("[a]\nx = 1\ny = 2", &["a={y=3}"]).unwrap(), is("a = {x=1, y=3}"));
    }

    #[test]
    fn entries_go_by_number_or_name() {
        let file = "custom_hooks = [{type = 'A'}, {type = 'A', name = 'b'}]";
        let want = is("custom_hooks = [{type = 'A', x = 1}, {type = 'A', name = 'b', y = 2}]");
        assert_eq!(with(file, &["custom_hooks.0.x=1", "custom_hooks.b.y=2"]).unwrap(), want);
        assert!(with(file, &["custom_hooks.2.x=1"]).unwrap_err().contains("no entry `2`"));
        assert!(with("", &["metrics.0.x=1"]).unwrap_err().contains("no entry `0`"));
    }

    #[test]
    fn an_invalid_override_is_refused() {
        for text in ["a", "=3", "a..b=3", "[a]=3", "a b=3", ""] {
            assert!(with("", &[text]).unwrap_err().contains("cannot read override"), "{text}");
        }
        let deep = format!("{}a=1", "a.".repeat(100_000));
        assert!(with("", &[deep.as_str()]).unwrap_err().contains("too deep"));
    }
}
