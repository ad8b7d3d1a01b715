//! Merges tables: deep, later wins, lists are replaced, `_delete_` discards the base.

use std::collections::HashMap;

use super::error::{ConfigErrors, Fault};
use super::tree::{Entry, Item, Node, Table};

/// `over` merged over `under`.
pub(super) fn merge(under: Node, over: Node) -> Node {
    match (under.item, over.item) {
        (Item::Table(under), Item::Table(over_table)) => {
            Node { item: Item::Table(merge_tables(under, over_table)), origin: over.origin }
        }
        (_, item) => Node { item, origin: over.origin },
    }
}

fn merge_tables(under: Table, mut over: Table) -> Table {
    if let Some(delete) = &mut over.delete {
        delete.used = true;
        return over;
    }
    // A table with `_delete_` keeps it when it is itself merged over another.
    let mut merged = under;
    let keys = merged.entries.iter().enumerate();
    let places: HashMap<String, usize> = keys.map(|(at, old)| (old.key.clone(), at)).collect();
    for entry in over.entries {
        match places.get(&entry.key) {
            None => merged.entries.push(entry),
            Some(at) => lay(&mut merged.entries[*at], entry),
        }
    }
    merged
}

fn lay(old: &mut Entry, entry: Entry) {
    let under = std::mem::replace(&mut old.node, Node::empty());
    old.node = merge(under, entry.node);
    old.key_origin = entry.key_origin;
}

/// Reports every `_delete_` that discarded nothing: its base is missing.
pub(super) fn check_deletes(node: &Node, shown: &str, errors: &mut ConfigErrors) {
    match &node.item {
        Item::Table(table) => {
            if let Some(delete) = table.delete.as_ref().filter(|delete| !delete.used) {
                errors.add(&delete.origin, Fault::DeleteNothing { table: shown.to_owned() });
            }
            for entry in &table.entries {
                check_deletes(&entry.node, &inside(shown, &entry.key), errors);
            }
        }
        Item::List(nodes) => nodes.iter().for_each(|node| check_deletes(node, shown, errors)),
        _ => {}
    }
}

/// The name of a table inside `shown`: `[data]` and `train` make `[data.train]`.
pub(super) fn inside(shown: &str, key: &str) -> String {
    match shown.strip_prefix('[').and_then(|shown| shown.strip_suffix(']')) {
        Some(outer) => format!("[{outer}.{key}]"),
        None => format!("[{key}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::tree_of;

    #[test]
    fn tables_merge_deep_lists_replace_and_delete_starts_afresh() {
        for (under, over, want) in [
            ("a = { x = 1, y = 2 }", "a = { y = 3, z = 4 }", "a = { x = 1, y = 3, z = 4 }"),
            ("a = [1, 2]", "a = [9]", "a = [9]"),
            ("a = { x = 1 }", "a = { _delete_ = true, y = 3 }", "a = { y = 3 }"),
        ] {
            let merged = merge(tree_of(under), tree_of(over)).to_value();
            assert_eq!(format!("{merged:?}"), format!("{:?}", tree_of(want).to_value()));
        }
    }

    #[test]
    fn a_delete_that_drops_nothing_is_reported() {
        let mut errors = ConfigErrors::default();
        let tree = merge(tree_of("b = 1"), tree_of("a = { _delete_ = true }"));
        check_deletes(&tree, "the file", &mut errors);
        assert_eq!(errors.iter().count(), 1);
    }
}
