//! What all tables with a `type =` share: finding the provider, and checking the settings.

use std::path::Path;

use hookrack_plugin_api::{Choice, Param, Presence, Value};

use super::Resolver;
use crate::config::catalog::{CatalogEntry, Kind};
use crate::config::check::{Scope, brief};
use crate::config::error::{ConfigError, Fault};
use crate::config::fixed;
use crate::config::locate;
use crate::config::origin::Origin;
use crate::config::read::shorten;
use crate::config::tree::{Item, Node, Table};
use hookrack_plugin_api::name::nearest;

/// The setting for ignored labels: of the loss, and of everything that reads the same labels.
const IGNORE_INDEX: &str = "ignore_index";

/// The label that a resolved loss ignores. For a sum it is that of its terms, if they agree.
pub(super) fn ignored_label(loss: &Value) -> Option<i64> {
    if let Some(Value::Int(label)) = loss.field(IGNORE_INDEX) {
        return Some(*label);
    }
    let Some(Value::List(terms)) = loss.field("losses") else { return None };
    let mut labels = terms.iter().filter_map(ignored_label);
    let first = labels.next()?;
    labels.all(|label| label == first).then_some(first)
}

/// A table with a `type`, checked.
pub(super) struct Typed<'a> {
    pub(super) entry: &'a CatalogEntry,
    /// The `type` that was written.
    type_node: Node,
    /// The keys that every entry of the kind has, without `type`.
    pub(super) reserved: Table,
    /// The parameters of this type.
    pub(super) settings: Table,
}

impl Typed<'_> {
    /// The type as it was written: the entry's name, or an alias of it.
    pub(super) fn written_type(&self) -> &str {
        self.type_node.as_str().unwrap_or(&self.entry.name)
    }

    /// The type, never an alias, with its complete parameters.
    pub(super) fn choice(&self) -> Choice {
        Choice { name: self.entry.name.clone(), settings: self.settings.to_value() }
    }

    /// The whole table again: type, reserved keys, settings.
    pub(super) fn into_table(self) -> Table {
        let mut table = Table::default();
        table.push_node("type", Node::str(&self.entry.name, self.type_node.origin));
        table.entries.extend(self.reserved.entries);
        table.entries.extend(self.settings.entries);
        table
    }
}

impl<'a> Resolver<'a> {
    /// Checks a table that has a `type`. `fallback` is the default type.
    pub(super) fn typed(
        &mut self,
        node: &Node,
        kind: Kind,
        scope: &Scope,
        fallback: Option<&str>,
    ) -> Option<Typed<'a>> {
        let Some(table) = node.as_table() else {
            self.checker.wrong_type(node, &scope.path, "a table with a `type`".into());
            return None;
        };
        let type_node = self.type_node(table, &node.origin, kind, scope, fallback)?;
        let entry = self.provider(type_node.as_str()?, &type_node.origin, table, kind, scope)?;
        let scope = scope.of_type(&entry.name);
        let mut reserved = fixed::reserved_params(kind);
        // A hook with a parameter of this name, older than the common key, keeps it.
        reserved.retain(|param| {
            let name = param.name.as_str();
            !fixed::LATER.contains(&name) || entry.params.iter().all(|own| own.name != name)
        });
        // Together with `every` it is rejected as an unknown key.
        if entry.has_cadence() && table.node("every").is_none() {
            reserved.push(fixed::interval());
        }
        let valid: Vec<_> = reserved.iter().chain(&entry.params).flat_map(Param::keys).collect();
        let undescribed =
            table.entries.iter().filter(|field| !valid.contains(&field.key.as_str())).cloned();
        let undescribed: Vec<_> = if entry.is_open { undescribed.collect() } else { Vec::new() };
        if !entry.is_open {
            self.checker.unknown_keys(table, &valid, &scope);
        }
        let reserved: Vec<Param> =
            reserved.into_iter().filter(|param| param.presence != Presence::Required).collect();
        let reserved = self.checker.known_keys(table, &node.origin, &reserved, &scope);
        let mut settings = self.checker.known_keys(table, &node.origin, &entry.params, &scope);
        self.checker.numbers_of_any(&settings, &entry.params, &scope);
        self.fill_ignored(kind, &entry.params, table, &mut settings);
        settings.entries.extend(undescribed);
        Some(Typed { entry, type_node, reserved, settings })
    }

    /// Labels that the loss ignores are ignored by metrics and are valid in data: if such a
    /// type has an `ignore_index` that the config does not set, it is the loss's.
    fn fill_ignored(&self, kind: Kind, params: &[Param], written: &Table, settings: &mut Table) {
        let Some(ignored) = self.ignored else { return };
        let param = params.iter().find(|param| param.name == IGNORE_INDEX);
        let Some(param) = param.filter(|_| matches!(kind, Kind::Metric | Kind::Dataset)) else {
            return;
        };
        if param.keys().all(|key| written.node(key).is_none()) {
            let node = Node { item: Item::Int(ignored), origin: Origin::Default };
            match settings.entries.iter_mut().find(|entry| entry.key == IGNORE_INDEX) {
                Some(entry) => entry.node = node,
                None => settings.push_node(IGNORE_INDEX, node),
            }
        }
    }

    fn type_node(
        &mut self,
        table: &Table,
        at: &Origin,
        kind: Kind,
        scope: &Scope,
        fallback: Option<&str>,
    ) -> Option<Node> {
        match (table.node("type"), fallback) {
            (Some(node), _) if node.as_str().is_some() => Some(node.clone()),
            (Some(node), _) => self.checker.wrong_type(node, &scope.key("type"), "a string".into()),
            (None, Some(type_name)) => Some(Node::str(type_name, Origin::Default)),
            (None, None) => {
                self.checker.errors.add(
                    at,
                    Fault::MissingKey {
                        key: "type".into(),
                        table: scope.shown.clone(),
                        doc: fixed::type_doc(kind),
                    },
                );
                None
            }
        }
    }

    /// The provider of a type: the library that is named, else the host, else the only library that has it.
    fn provider(
        &mut self,
        name: &str,
        at: &Origin,
        table: &Table,
        kind: Kind,
        scope: &Scope,
    ) -> Option<&'a CatalogEntry> {
        let library = table.node("library").filter(|_| kind.comes_from_libraries());
        let found = match library.map(|node| (node, node.as_str())) {
            None => self.anywhere(name, at, kind),
            Some((node, Some(written))) => self.in_library(name, at, kind, written, &node.origin),
            Some((node, None)) => {
                self.checker.wrong_type(node, &scope.key("library"), "a string".into());
                return None;
            }
        };
        found.map_err(|error| self.checker.errors.push(error)).ok()
    }

    fn in_library(
        &self,
        name: &str,
        at: &Origin,
        kind: Kind,
        written: &str,
        library_at: &Origin,
    ) -> Result<&'a CatalogEntry, ConfigError> {
        let path = locate::library(written, library_at, &self.folders, self.checker.current)?;
        let catalog = self.catalog;
        let inside: Vec<&CatalogEntry> =
            catalog.of(kind).filter(|entry| is_from(entry, &path)).collect();
        inside.iter().find(|entry| entry.answers_to(name)).copied().ok_or_else(|| {
            ConfigError::at(
                at,
                Fault::NotInLibrary {
                    kind,
                    name: brief(name),
                    library: written.to_owned(),
                    provides: inside.iter().map(|entry| entry.name.clone()).collect(),
                },
            )
        })
    }

    fn anywhere(
        &self,
        name: &str,
        at: &Origin,
        kind: Kind,
    ) -> Result<&'a CatalogEntry, ConfigError> {
        let catalog = self.catalog;
        let named: Vec<&CatalogEntry> =
            catalog.of(kind).filter(|entry| entry.answers_to(name)).collect();
        let built_in = named.iter().find(|entry| entry.source.library().is_none());
        match (built_in, named.as_slice()) {
            (Some(entry), _) | (None, [entry]) => Ok(entry),
            (None, []) => Err(self.unknown_type(name, at, kind)),
            (None, several) => {
                // Folders of `search` are used only for what no earlier folder has.
                let first = several.iter().map(|entry| entry.rank).min().unwrap_or(0);
                let several: Vec<_> = several.iter().filter(|entry| entry.rank == first).collect();
                if let [entry] = several.as_slice() {
                    return Ok(entry);
                }
                let paths = several.iter().filter_map(|entry| entry.source.library());
                let libraries = paths.map(|path| shorten(path, self.checker.current)).collect();
                let name = name.to_owned();
                Err(ConfigError::at(at, Fault::AmbiguousType { kind, name, libraries }))
            }
        }
    }

    fn unknown_type(&self, name: &str, at: &Origin, kind: Kind) -> ConfigError {
        let standing_in = self.catalog.metric_hooks().iter().filter(|_| kind == Kind::Hook);
        let names = self.catalog.of(kind).flat_map(CatalogEntry::names);
        let names = names.chain(standing_in.map(|hook| hook.name.as_str()));
        ConfigError::at(
            at,
            Fault::UnknownType {
                kind,
                name: brief(name),
                nearest: nearest(name, names).map(str::to_owned),
                searched: if kind.comes_from_libraries() {
                    self.folders.searched()
                } else {
                    Vec::new()
                },
            },
        )
    }

    /// The library of an entry, as written in the resolved config.
    pub(super) fn library_node(entry: &CatalogEntry, written: Option<&Node>) -> Option<Node> {
        let path = entry.source.library()?.display().to_string();
        Some(Node::str(path, written.map_or(Origin::Default, |node| node.origin.clone())))
    }
}

fn is_from(entry: &CatalogEntry, library: &Path) -> bool {
    entry.source.library().is_some_and(|path| path == library || same_file(path, library))
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
