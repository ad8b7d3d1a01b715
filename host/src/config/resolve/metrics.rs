//! `[[metrics]]`: what is measured, and in which phases.

use super::Resolver;
use super::metric_hooks::brought;
use super::policy::EntryDefaults;
use crate::config::cadence::{Every, Phases};
use crate::config::catalog::Kind;
use crate::config::check::Scope;
use crate::config::entries::{METRIC_LEVEL, MetricEntry};
use crate::config::tree::{Item, Node, Table};
use hookrack_plugin_api::OnError;

impl Resolver<'_> {
    pub(super) fn metrics(&mut self) -> Vec<MetricEntry> {
        let mut metrics = Vec::new();
        let mut nodes = Vec::new();
        for (index, node) in self.list_of_tables("metrics").iter().enumerate() {
            let scope = Scope { path: format!("metrics.{index}"), shown: "[[metrics]]".into() };
            if let Some((metric, table)) = self.metric(node, &scope) {
                metrics.push(metric);
                nodes.push(Node::table(table, node.origin.clone()));
            }
        }
        for (index, node) in self.hook_nodes().iter().enumerate() {
            let Some(hook) = self.metric_hook(node) else { continue };
            let path = format!("custom_hooks.{index}");
            let scope = Scope { path, shown: "[[custom_hooks]]".into() };
            let Some(node) = self.as_metric(node, hook) else { continue };
            if let Some((metric, table)) = self.metric(&node, &scope) {
                metrics.push(metric);
                nodes.push(Node::table(table, node.origin.clone()));
            }
        }
        self.companions(&mut metrics, &mut nodes);
        self.push_list("metrics", nodes);
        metrics
    }

    /// The metrics that hooks bring with them, unless the config already has one of that name, as a resolved config does.
    fn companions(&mut self, metrics: &mut Vec<MetricEntry>, nodes: &mut Vec<Node>) {
        for (index, node) in self.hook_nodes().iter().enumerate() {
            let Some(metric) = self.companion(node) else { continue };
            if metrics.iter().any(|known| known.name == metric.metric) {
                continue;
            }
            let path = format!("custom_hooks.{index}");
            let scope = Scope { path, shown: "[[custom_hooks]]".into() };
            let node = brought(metric, node);
            if let Some((metric, table)) = self.metric(&node, &scope) {
                metrics.push(metric);
                nodes.push(Node::table(table, node.origin.clone()));
            }
        }
    }

    fn metric(&mut self, node: &Node, scope: &Scope) -> Option<(MetricEntry, Table)> {
        let mut typed = self.typed(node, Kind::Metric, scope, None)?;
        let defaults = EntryDefaults {
            level: METRIC_LEVEL,
            on_error: OnError::Abort,
            every: Every::Always,
            phases: Phases::EVAL,
        };
        let keys = self.entry_keys(&mut typed, scope, &defaults)?;
        let metric = MetricEntry {
            name: keys.name,
            type_name: typed.entry.name.clone(),
            library: typed.entry.source.library().map(Into::into),
            level: keys.level,
            on_error: keys.on_error,
            every: keys.every,
            phases: keys.phases,
            settings: typed.settings.to_value(),
            origin: node.origin.clone(),
        };
        Some((metric, typed.into_table()))
    }

    /// A list of tables of the resolved config; an empty one is omitted.
    pub(super) fn push_list(&mut self, key: &str, nodes: Vec<Node>) {
        if let Some(origin) = nodes.first().map(|node| node.origin.clone()) {
            self.tree.push_node(key, Node { item: Item::List(nodes), origin });
        }
    }
}
