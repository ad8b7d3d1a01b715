//! Entries of `[[custom_hooks]]` that stand for a metric: `AccuracyHook`, or `MetricHook` with `metric = "…"`.
//!
//! A metric is called in the place of a hook anyway, before the hooks that read it; the resolved config lists such an
//! entry under `[[metrics]]`.

use super::Resolver;
use crate::config::catalog::MetricHook;
use crate::config::error::ConfigError;
use crate::config::tree::{Node, Table};

/// The key by which a `MetricHook` names its metric.
const METRIC: &str = "metric";

impl<'a> Resolver<'a> {
    /// What a hook entry stands for, if it stands for a metric.
    pub(super) fn metric_hook(&self, node: &Node) -> Option<&'a MetricHook> {
        let name = node.as_table()?.node("type")?.as_str()?;
        self.catalog.metric_hooks().iter().find(|hook| hook.name == name)
    }

    /// The same entry as `[[metrics]]` would have it.
    pub(super) fn as_metric(&mut self, node: &Node, hook: &MetricHook) -> Option<Node> {
        let table = node.as_table()?;
        let type_node = match &hook.metric {
            Some(metric) => Node::str(metric, table.node("type")?.origin.clone()),
            None => self.metric_key(table, node)?,
        };
        let mut rewritten = Table::default();
        rewritten.push_node("type", type_node);
        let is_metric = |key: &str| hook.metric.is_none() && key == METRIC;
        let rest =
            table.entries.iter().filter(|entry| entry.key != "type" && !is_metric(&entry.key));
        rewritten.entries.extend(rest.cloned());
        Some(Node::table(rewritten, node.origin.clone()))
    }

    fn metric_key(&mut self, table: &Table, node: &Node) -> Option<Node> {
        let written = table.node(METRIC);
        if written.is_none() {
            self.checker.errors.push(ConfigError::MissingKey {
                at: node.origin.clone(),
                key: METRIC.into(),
                table: "[[custom_hooks]] of type MetricHook".into(),
                doc: "the type of a metric".into(),
            });
        }
        written.cloned()
    }
}
