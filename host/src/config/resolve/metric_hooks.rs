//! Entries of `[[custom_hooks]]` that stand for a metric (`AccuracyHook`, or `MetricHook` with `metric = "…"`), and those
//! that bring one with them (`LossHook`).
//!
//! Metrics are called like hooks, before the hooks that read them; the resolved config lists such an
//! entry under `[[metrics]]`.

use super::Resolver;
use crate::config::catalog::{Companion, MetricHook};
use crate::config::error::Fault;
use crate::config::tree::{Item, Node, Table};
use hookrack_plugin_api::Phase;

impl<'a> Resolver<'a> {
    /// The entries of `[[custom_hooks]]`; errors of the list are reported when hooks are resolved.
    pub(super) fn hook_nodes(&self) -> &'a [Node] {
        self.file.root.node("custom_hooks").and_then(Node::as_list).unwrap_or_default()
    }

    /// The metric that a hook entry adds, if it adds one.
    pub(super) fn metric_hook(&self, node: &Node) -> Option<&'a MetricHook> {
        let name = node.as_table()?.node("type")?.as_str()?;
        self.catalog.metric_hooks().iter().find(|hook| hook.name == name)
    }

    /// The metric that a hook entry brings with it.
    pub(super) fn companion(&self, node: &Node) -> Option<&'a Companion> {
        let name = node.as_table()?.node("type")?.as_str()?;
        self.catalog.companions.iter().find(|companion| companion.hook == name)
    }

    /// The same entry as `[[metrics]]` would have it.
    pub(super) fn as_metric(&mut self, node: &Node, hook: &MetricHook) -> Option<Node> {
        let table = node.as_table()?;
        let type_node = match (table.node(&hook.key), &hook.metric) {
            (Some(written), _) => written.clone(),
            (None, Some(metric)) => Node::str(metric, table.node("type")?.origin.clone()),
            (None, None) => return self.metric_missing(node, hook),
        };
        let mut rewritten = Table::default();
        rewritten.push_node("type", type_node);
        let rest =
            table.entries.iter().filter(|entry| entry.key != "type" && entry.key != hook.key);
        rewritten.entries.extend(rest.cloned());
        Some(Node::table(rewritten, node.origin.clone()))
    }

    fn metric_missing(&mut self, node: &Node, hook: &MetricHook) -> Option<Node> {
        self.checker.errors.add(
            &node.origin,
            Fault::MissingKey {
                key: hook.key.clone(),
                table: format!("[[custom_hooks]] of type {}", hook.name),
                doc: "the type of a metric".into(),
            },
        );
        None
    }
}

/// The entry of a metric that comes with a hook: measured wherever there is a label.
pub(super) fn brought(companion: &Companion, hook: &Node) -> Node {
    let origin = hook.origin.clone();
    let phases = [Phase::Train, Phase::Val, Phase::Test];
    let phases = phases.map(|phase| Node::str(phase.name(), origin.clone()));
    let mut table = Table::default();
    table.push_node("type", Node::str(&companion.metric, origin.clone()));
    table.push_node("phase", Node { item: Item::List(phases.into()), origin: origin.clone() });
    Node::table(table, origin)
}
