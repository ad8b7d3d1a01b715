//! `[[metrics]]`: what is measured, and in which phases.

use super::Resolver;
use crate::config::cadence::Phases;
use crate::config::catalog::Kind;
use crate::config::check::Scope;
use crate::config::entries::MetricEntry;
use crate::config::tree::{Item, Node, Table};

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
        for (index, node) in self.list_of_tables("custom_hooks").iter().enumerate() {
            let Some(hook) = self.metric_hook(node) else { continue };
            let path = format!("custom_hooks.{index}");
            let scope = Scope { path, shown: "[[custom_hooks]]".into() };
            let Some(node) = self.as_metric(node, hook) else { continue };
            if let Some((metric, table)) = self.metric(&node, &scope) {
                metrics.push(metric);
                nodes.push(Node::table(table, node.origin.clone()));
            }
        }
        let named = metrics.iter().map(|metric| (metric.name.as_str(), &metric.origin));
        self.unique_names(Kind::Metric, &named.collect::<Vec<_>>());
        self.push_list("metrics", nodes);
        metrics
    }

    fn metric(&mut self, node: &Node, scope: &Scope) -> Option<(MetricEntry, Table)> {
        let mut typed = self.typed(node, Kind::Metric, scope, None)?;
        let name = self.name_node(&typed);
        let phases = self.phases(&typed.reserved, scope, Phases::EVAL)?;
        let library = Self::library_node(typed.entry, typed.reserved.node("library"));
        let metric = MetricEntry {
            name: name.as_str()?.to_owned(),
            type_name: typed.entry.name.clone(),
            library: typed.entry.source.library().map(Into::into),
            phases: phases.0,
            settings: typed.settings.to_value(),
            origin: node.origin.clone(),
        };
        let mut reserved = Table::default();
        if let Some(library) = library {
            reserved.push_node("library", library);
        }
        reserved.push_node("name", name);
        reserved.push_node("phase", phases.1);
        typed.reserved = reserved;
        Some((metric, typed.into_table()))
    }

    /// A list of tables of the resolved config; an empty one is not written.
    pub(super) fn push_list(&mut self, key: &str, nodes: Vec<Node>) {
        if let Some(origin) = nodes.first().map(|node| node.origin.clone()) {
            self.tree.push_node(key, Node { item: Item::List(nodes), origin });
        }
    }
}
