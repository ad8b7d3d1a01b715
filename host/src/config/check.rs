//! Checks a table against its description, fills in defaults and makes paths absolute.

use std::path::Path;

use hookrack_plugin_api::{Param, ParamType, Presence};

use super::error::{ConfigErrors, Fault};
use super::origin::Origin;
use super::read::clean;
use super::tree::{Entry, Item, Node, Table};
use hookrack_plugin_api::name::nearest;

/// A table in the config: its key path, and its name in a message.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) path: String,
    pub(super) shown: String,
}

impl Scope {
    pub(super) fn section(key: &str) -> Self {
        Self { path: key.to_owned(), shown: format!("[{key}]") }
    }

    /// An entry of a list of tables.
    pub(super) fn entry(list: &str, index: usize) -> Self {
        Self { path: format!("{list}.{index}"), shown: format!("[[{list}]]") }
    }

    /// The same table, now that its type is known.
    pub(super) fn of_type(&self, type_name: &str) -> Self {
        Self { path: self.path.clone(), shown: format!("{} of type {type_name}", self.shown) }
    }

    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Checks values and collects what is wrong with them.
pub(super) struct Checker<'a> {
    /// Relative paths of defaults start here.
    pub(super) current: &'a Path,
    pub(super) errors: ConfigErrors,
    /// Settings that name a scalar; they are checked at the end, when all scalars are known.
    pub(super) monitors: Vec<Monitor>,
    /// The table that is being checked.
    within: Origin,
}

/// A setting that names a scalar of the run.
pub(super) struct Monitor {
    pub(super) at: Origin,
    pub(super) key: String,
    pub(super) name: String,
}

impl<'a> Checker<'a> {
    pub(super) fn new(current: &'a Path) -> Self {
        let (monitors, within) = (Vec::new(), Origin::Default);
        Self { current, errors: ConfigErrors::default(), monitors, within }
    }

    /// The complete table in the order of the description. Keys that `params` lacks are errors.
    pub(super) fn table(
        &mut self,
        table: &Table,
        at: &Origin,
        params: &[Param],
        scope: &Scope,
    ) -> Table {
        let valid: Vec<&str> = params.iter().flat_map(Param::keys).collect();
        self.unknown_keys(table, &valid, scope);
        self.known_keys(table, at, params, scope)
    }

    /// Reports every key that is not among `valid`.
    pub(super) fn unknown_keys(&mut self, table: &Table, valid: &[&str], scope: &Scope) {
        for Entry { key, key_origin, .. } in &table.entries {
            if valid.contains(&key.as_str()) || self.errors.is_full() {
                continue;
            }
            self.errors.add(
                key_origin,
                Fault::UnknownKey {
                    key: key.clone(),
                    table: scope.shown.clone(),
                    nearest: nearest(key, valid.iter().copied()).map(str::to_owned),
                    valid: valid.iter().map(|key| (*key).to_owned()).collect(),
                },
            );
        }
    }

    /// The values of the described keys, checked and completed.
    pub(super) fn known_keys(
        &mut self,
        table: &Table,
        at: &Origin,
        params: &[Param],
        scope: &Scope,
    ) -> Table {
        let mut complete = Table::default();
        let outer = std::mem::replace(&mut self.within, at.clone());
        for param in params {
            let (key_origin, node) = match (self.written(table, param), &param.presence) {
                (Some(entry), _) => (entry.key_origin.clone(), Some(entry.node.clone())),
                (None, Presence::Default(value)) => {
                    (Origin::Default, Some(Node::from_default(value)))
                }
                (None, Presence::Optional) => (Origin::Default, None),
                (None, Presence::Required) => {
                    self.errors.add(
                        at,
                        Fault::MissingKey {
                            key: param.name.clone(),
                            table: scope.shown.clone(),
                            doc: param.doc.clone(),
                        },
                    );
                    (Origin::Default, None)
                }
            };
            let checked = node.and_then(|node| self.value(&node, param, &scope.key(&param.name)));
            if let Some(node) = checked {
                complete.push(&param.name, key_origin, node);
            }
        }
        self.within = outer;
        complete
    }

    /// The entry that sets a parameter, under its own key or an alias. Two are an error, as it would be unclear which one counts.
    fn written<'t>(&mut self, table: &'t Table, param: &Param) -> Option<&'t Entry> {
        let mut entries = param.keys().filter_map(|key| table.entry(key));
        let first = entries.next()?;
        if let Some(second) = entries.next() {
            self.errors.add(
                &second.key_origin,
                Fault::SetTwice {
                    key: second.key.clone(),
                    first: first.key_origin.clone(),
                    first_key: first.key.clone(),
                },
            );
        }
        Some(first)
    }

    /// Numbers in settings that only their component checks must be finite, as everywhere.
    pub(super) fn numbers_of_any(&mut self, settings: &Table, params: &[Param], scope: &Scope) {
        for param in params.iter().filter(|param| has_any(&param.ty)) {
            if let Some(node) = settings.node(&param.name) {
                self.finite_within(node, &scope.key(&param.name));
            }
        }
    }

    fn finite_within(&mut self, node: &Node, key: &str) {
        match &node.item {
            Item::Float(number) => {
                self.is_finite(node, *number, key);
            }
            Item::List(nodes) => {
                let nodes = nodes.iter().enumerate();
                nodes.for_each(|(index, node)| self.finite_within(node, &format!("{key}.{index}")));
            }
            Item::Table(table) => {
                let fields = table.entries.iter();
                fields.for_each(|Entry { key: name, node, .. }| {
                    self.finite_within(node, &format!("{key}.{name}"));
                });
            }
            _ => {}
        }
    }

    fn is_finite(&mut self, node: &Node, number: f64, key: &str) -> bool {
        if number.is_nan() {
            self.errors.add(&node.origin, Fault::NotANumber { key: key.to_owned() });
        } else if number.is_infinite() {
            self.errors.add(&node.origin, Fault::NotFinite { key: key.to_owned() });
        }
        number.is_finite()
    }

    /// Checks one value against its parameter.
    pub(super) fn value(&mut self, node: &Node, param: &Param, key: &str) -> Option<Node> {
        let checked = self.typed(node, &param.ty, key)?;
        self.in_range(&checked, param, key).then_some(checked)
    }

    fn typed(&mut self, node: &Node, ty: &ParamType, key: &str) -> Option<Node> {
        let origin = node.origin.clone();
        let item = match (ty, &node.item) {
            (ParamType::Float, Item::Float(value)) if value.is_nan() => {
                self.is_finite(node, *value, key);
                return None;
            }
            (ParamType::Any, _)
            | (ParamType::Bool, Item::Bool(_))
            | (ParamType::Int, Item::Int(_))
            | (ParamType::Float, Item::Float(_))
            | (ParamType::Str, Item::Str(_)) => node.item.clone(),
            (ParamType::Float, Item::Int(value)) => Item::Float(widen(*value)),
            (ParamType::Monitor, Item::Str(name)) => {
                // A default has no line; its table has one.
                let at = if matches!(origin, Origin::Default) { &self.within } else { &origin };
                let (at, key, name) = (at.clone(), key.to_owned(), name.clone());
                self.monitors.push(Monitor { at, key, name });
                node.item.clone()
            }
            (ParamType::Path, Item::Str(path)) => return self.path(path, &origin, key),
            (ParamType::OneOf(choices), Item::Str(found)) => {
                return self.choice(node, found, choices, key);
            }
            (ParamType::List(inner), Item::List(nodes)) => {
                let checked = nodes.iter().enumerate();
                let checked: Vec<_> = checked
                    .map(|(index, node)| self.typed(node, inner, &format!("{key}.{index}")))
                    .collect();
                Item::List(checked.into_iter().collect::<Option<_>>()?)
            }
            (ParamType::Table(params), Item::Table(table)) => {
                let scope = Scope { path: key.to_owned(), shown: format!("`{key}`") };
                Item::Table(self.table(table, &origin, params, &scope))
            }
            (ParamType::Model, Item::Table(table)) => Item::Table(self.model(table, key)?),
            _ => return self.wrong_type(node, key, expected(ty)),
        };
        Some(Node { item, origin })
    }

    /// A second model: only the path of its weights is resolved here; the rest is checked when it is built.
    fn model(&mut self, table: &Table, key: &str) -> Option<Table> {
        let mut table = table.clone();
        for field in table.entries.iter_mut().filter(|field| field.key == "weights") {
            field.node = self.typed(&field.node, &ParamType::Path, &format!("{key}.weights"))?;
        }
        Some(table)
    }

    pub(super) fn wrong_type(&mut self, node: &Node, key: &str, expected: String) -> Option<Node> {
        let help = help_on_type(node, key, &expected);
        let (key, found) = (key.to_owned(), node.kind());
        self.errors.add(&node.origin, Fault::WrongType { key, expected, found, help });
        None
    }

    fn choice(&mut self, node: &Node, found: &str, choices: &[String], key: &str) -> Option<Node> {
        if choices.iter().any(|choice| choice == found) {
            return Some(node.clone());
        }
        let (key, found, choices) = (key.to_owned(), brief(found), choices.to_vec());
        self.errors.add(&node.origin, Fault::NotAChoice { key, found, choices });
        None
    }

    /// An absolute path; a relative one starts in the folder of the file that contains it.
    fn path(&mut self, written: &str, origin: &Origin, key: &str) -> Option<Node> {
        let key = key.to_owned();
        if written.is_empty() {
            self.errors.add(origin, Fault::EmptyPath { key });
            return None;
        }
        if has_variable(written) {
            self.errors.add(origin, Fault::VariableInPath { key });
            return None;
        }
        let dir = origin.document().map_or(self.current, |document| &document.dir);
        let path = clean(&dir.join(written));
        if let Some(text) = path.to_str() {
            return Some(Node::str(text, origin.clone()));
        }
        let path = path.display().to_string();
        self.errors.add(origin, Fault::PathNotUtf8 { key, path });
        None
    }

    /// The range of a list applies to its numbers.
    fn in_range(&mut self, node: &Node, param: &Param, key: &str) -> bool {
        let number = match &node.item {
            Item::Int(value) => widen(*value),
            Item::Float(value) if value.is_infinite() && !param.takes_infinity() => {
                return self.is_finite(node, *value, key);
            }
            Item::Float(value) => *value,
            Item::List(nodes) => {
                let inside = |(index, node)| self.in_range(node, param, &format!("{key}.{index}"));
                // Checks all of them, so that each number out of range is reported.
                let fits: Vec<bool> = nodes.iter().enumerate().map(inside).collect();
                return fits.into_iter().all(|fits| fits);
            }
            _ => return true,
        };
        let fits =
            param.min.is_none_or(|min| number >= min) && param.max.is_none_or(|max| number <= max);
        if !fits {
            let found = match node.item {
                Item::Int(value) => value.to_string(),
                _ => number.to_string(),
            };
            let key = key.to_owned();
            let (min, max) = (param.min, param.max.filter(|max| max.is_finite()));
            self.errors.add(&node.origin, Fault::OutOfRange { key, found, min, max });
        }
        fits
    }
}

/// Whether a value of this type, or a part of it, is only checked by the component itself.
fn has_any(ty: &ParamType) -> bool {
    match ty {
        ParamType::Any | ParamType::Model => true,
        ParamType::List(inner) => has_any(inner),
        ParamType::Table(params) => params.iter().any(|param| has_any(&param.ty)),
        _ => false,
    }
}

/// `${HOME}`, `$HOME` at the start, or `~/`: what a shell would have expanded.
pub(super) fn has_variable(path: &str) -> bool {
    path.contains("${") || path.starts_with('$') || path.starts_with("~/")
}

/// A value in a message, shortened if it is long.
pub(super) fn brief(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an integer where a float is wanted is rounded to one"
)]
fn widen(value: i64) -> f64 {
    value as f64
}

/// Hints for common mistakes: superfluous quotes, missing brackets.
fn help_on_type(node: &Node, key: &str, expected: &str) -> Option<String> {
    match (&node.item, expected) {
        (Item::Str(text), "an integer" | "a number") if text.parse::<f64>().is_ok() => {
            Some("numbers are written without quotes".into())
        }
        (Item::Str(text), "true or false") if text.parse::<bool>().is_ok() => {
            Some(format!("write {text} without quotes"))
        }
        (Item::Str(_), "a table with a `type`") => {
            Some("write `type = \"…\"` in a section of its own".into())
        }
        (Item::Table(_), "a list of tables") => Some(format!("write [[{key}]] for each entry")),
        (Item::Str(name), "a list of tables") => (!key.contains('.')).then(|| {
            let name = brief(name);
            format!("write [[{key}]] for each entry, or {key} = [{{ type = \"{name}\" }}]")
        }),
        (Item::Str(text), expected) if expected.starts_with("a list of") => {
            Some(format!("write [\"{}\"]", brief(text)))
        }
        _ => None,
    }
}

/// The name of a type, with its article.
fn expected(ty: &ParamType) -> String {
    match ty {
        ParamType::Bool => "true or false".into(),
        ParamType::Int => "an integer".into(),
        ParamType::Float => "a number".into(),
        ParamType::Str => "a string".into(),
        ParamType::Path => "a path".into(),
        ParamType::OneOf(choices) => format!("one of {}", choices.join(", ")),
        ParamType::List(inner) => format!("a list of {}", plural(inner)),
        ParamType::Table(_) => "a table".into(),
        ParamType::Model => "a table like `[model]`".into(),
        ParamType::Monitor => "the name of a scalar".into(),
        ParamType::Any => "a value".into(),
    }
}

fn plural(ty: &ParamType) -> &'static str {
    match ty {
        ParamType::Bool => "booleans",
        ParamType::Int => "integers",
        ParamType::Float => "numbers",
        ParamType::Str | ParamType::OneOf(_) => "strings",
        ParamType::Path => "paths",
        ParamType::List(_) => "lists",
        ParamType::Table(_) => "tables",
        ParamType::Model => "models",
        ParamType::Monitor => "names of scalars",
        ParamType::Any => "values",
    }
}
