//! The tree of a config: TOML values with their origins.

use hookrack_plugin_api::Value;

use super::origin::Origin;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) item: Item,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Node>),
    Table(Table),
}

/// A table in the order in which its keys were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    /// Set by `_delete_ = true`: this table of a base is discarded, not merged.
    pub(super) delete: Option<Delete>,
}

/// One `key = value`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_origin: Origin,
    pub(super) node: Node,
}

#[derive(Clone, Debug)]
pub(super) struct Delete {
    pub(super) origin: Origin,
    /// Whether a base had anything to discard; a `_delete_` without effect is a mistake.
    pub(super) used: bool,
}

impl Table {
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn node(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(super) fn str(&self, key: &str) -> Option<&str> {
        self.node(key)?.as_str()
    }

    /// Adds a key at the end. The key must be new.
    pub(super) fn push(&mut self, key: &str, key_origin: Origin, node: Node) {
        self.entries.push(Entry { key: key.to_owned(), key_origin, node });
    }

    /// Adds a key at the end, with the origin of its value.
    pub(super) fn push_node(&mut self, key: &str, node: Node) {
        self.push(key, node.origin.clone(), node);
    }

    /// The table as plain data.
    pub(super) fn to_value(&self) -> Value {
        let pairs = self.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_value()));
        Value::Table(pairs.collect())
    }
}

impl Node {
    pub(super) fn str(text: impl Into<String>, origin: Origin) -> Self {
        Self { item: Item::Str(text.into()), origin }
    }

    pub(super) fn table(table: Table, origin: Origin) -> Self {
        Self { item: Item::Table(table), origin }
    }

    /// A placeholder while a node is being replaced.
    pub(super) fn empty() -> Self {
        Self { item: Item::Bool(false), origin: Origin::Default }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.item {
            Item::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_table(&self) -> Option<&Table> {
        match &self.item {
            Item::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[Node]> {
        match &self.item {
            Item::List(list) => Some(list),
            _ => None,
        }
    }

    /// What this is, with its article: `a string`.
    pub(super) fn kind(&self) -> &'static str {
        match &self.item {
            Item::Bool(_) => "a boolean",
            Item::Int(_) => "an integer",
            Item::Float(_) => "a float",
            Item::Str(_) => "a string",
            Item::List(list) if is_list_of_tables(list) => "a list of tables",
            Item::List(_) => "a list",
            Item::Table(_) => "a table",
        }
    }

    /// A default as a tree; every part of it has the default origin.
    pub(super) fn from_default(value: &Value) -> Self {
        let item = match value {
            Value::Bool(value) => Item::Bool(*value),
            Value::Int(value) => Item::Int(*value),
            Value::Float(value) => Item::Float(*value),
            Value::Str(value) => Item::Str(value.clone()),
            Value::List(values) => Item::List(values.iter().map(Self::from_default).collect()),
            Value::Table(pairs) => {
                let mut table = Table::default();
                for (key, value) in pairs {
                    table.push_node(key, Self::from_default(value));
                }
                Item::Table(table)
            }
        };
        Self { item, origin: Origin::Default }
    }

    /// The node as plain data.
    pub(super) fn to_value(&self) -> Value {
        match &self.item {
            Item::Bool(value) => Value::Bool(*value),
            Item::Int(value) => Value::Int(*value),
            Item::Float(value) => Value::Float(*value),
            Item::Str(value) => Value::Str(value.clone()),
            Item::List(nodes) => Value::List(nodes.iter().map(Self::to_value).collect()),
            Item::Table(table) => table.to_value(),
        }
    }
}

fn is_list_of_tables(list: &[Node]) -> bool {
    !list.is_empty() && list.iter().all(|node| node.as_table().is_some())
}
