//! Writes a resolved config as TOML, which is itself a valid config.

use std::fmt::Write;

use super::resolved::ResolvedConfig;
use super::tree::{Entry, Item, Node, Table};

impl ResolvedConfig {
    /// The resolved config as a config file; deterministic.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for entry in &self.tree.entries {
            match &entry.node.item {
                // These two contain tables, each with its own header.
                Item::Table(table) if matches!(entry.key.as_str(), "data" | "default_hooks") => {
                    write_group(&mut text, &entry.key, table);
                }
                Item::Table(table) => write_section(&mut text, &format!("[{}]", entry.key), table),
                Item::List(nodes) => {
                    for table in nodes.iter().filter_map(Node::as_table) {
                        write_section(&mut text, &format!("[[{}]]", entry.key), table);
                    }
                }
                _ => write_entry(&mut text, entry),
            }
        }
        text
    }
}

fn write_group(text: &mut String, key: &str, group: &Table) {
    let (tables, plain): (Vec<_>, Vec<_>) =
        group.entries.iter().partition(|entry| entry.node.as_table().is_some());
    if !plain.is_empty() {
        header(text, &format!("[{key}]"));
        for entry in plain {
            write_entry(text, entry);
        }
    }
    for entry in tables {
        if let Some(table) = entry.node.as_table() {
            write_section(text, &format!("[{key}.{}]", key_text(&entry.key)), table);
        }
    }
}

fn write_section(text: &mut String, name: &str, table: &Table) {
    header(text, name);
    for entry in &table.entries {
        write_entry(text, entry);
    }
}

fn header(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(name);
    text.push('\n');
}

fn write_entry(text: &mut String, entry: &Entry) {
    let value = match &entry.node.item {
        Item::List(nodes) if nodes.iter().any(|node| node.as_table().is_some()) => {
            let lines = nodes.iter().map(|node| format!("    {},\n", inline(node)));
            format!("[\n{}]", lines.collect::<String>())
        }
        _ => inline(&entry.node),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} = {value}", key_text(&entry.key));
}

/// A value on one line.
pub(super) fn inline(node: &Node) -> String {
    match &node.item {
        Item::Bool(value) => value.to_string(),
        Item::Int(value) => value.to_string(),
        Item::Float(value) => toml::Value::Float(*value).to_string(),
        Item::Str(value) => quoted(value),
        Item::List(nodes) => {
            let values: Vec<_> = nodes.iter().map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        Item::Table(table) if table.entries.is_empty() => "{}".into(),
        Item::Table(table) => {
            let entry =
                |entry: &Entry| format!("{} = {}", key_text(&entry.key), inline(&entry.node));
            let entries: Vec<_> = table.entries.iter().map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// A key, in quotes where it needs them.
fn key_text(key: &str) -> String {
    let bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { key.to_owned() } else { quoted(key) }
}

/// A basic string on one line, with escapes.
fn quoted(text: &str) -> String {
    let escaped: String = text.chars().map(escape).collect();
    format!("\"{escaped}\"")
}

fn escape(c: char) -> String {
    match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    }
}
