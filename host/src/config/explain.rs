//! Where each value of a resolved config came from, row by row.

use super::resolved::ResolvedConfig;
use super::tree::{Item, Node};
use super::write::inline;

/// One value: its key path, itself as TOML, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingOrigin {
    /// `train.batch_size`, `custom_hooks.0.momentum`
    pub key: String,
    /// As TOML, on one line.
    pub value: String,
    /// `configs/quickstart.toml:12`, `-s 1` or `default`.
    pub origin: String,
}

impl ResolvedConfig {
    /// Every value with its origin, in the order of the resolved config.
    pub fn explain(&self) -> Vec<SettingOrigin> {
        let mut rows = Vec::new();
        for entry in &self.tree.entries {
            explain_node(&entry.key, &entry.node, &mut rows);
        }
        rows
    }
}

fn explain_node(key: &str, node: &Node, rows: &mut Vec<SettingOrigin>) {
    match &node.item {
        Item::Table(table) if !table.entries.is_empty() => {
            for entry in &table.entries {
                explain_node(&format!("{key}.{}", entry.key), &entry.node, rows);
            }
        }
        Item::List(nodes) if nodes.iter().any(|node| node.as_table().is_some()) => {
            for (index, node) in nodes.iter().enumerate() {
                explain_node(&format!("{key}.{index}"), node, rows);
            }
        }
        _ => rows.push(SettingOrigin {
            key: key.to_owned(),
            value: inline(node),
            origin: node.origin.to_string(),
        }),
    }
}
