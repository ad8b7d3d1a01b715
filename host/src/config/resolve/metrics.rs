//! `[[metrics]]`: what is measured, and in which phases.

use super::Resolver;
use super::metric_hooks::brought;
use super::policy::{on_error, reserved_again};
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
        let name = self.name_node(&typed);
        let level = self.level(&typed.reserved, scope, METRIC_LEVEL);
        let every = self.every(&typed.reserved, scope, Every::Always);
        let phases = self.phases(&typed.reserved, scope, Phases::EVAL);
        let on_error = on_error(&typed.reserved, OnError::Abort);
        let metric = MetricEntry {
            name: name.as_str()?.to_owned(),
            type_name: typed.entry.name.clone(),
            library: typed.entry.source.library().map(Into::into),
            level: level.as_ref()?.0,
            on_error: OnError::from_name(on_error.as_str()?)?,
            every: every.as_ref()?.0,
            phases: phases.as_ref()?.0,
            settings: typed.settings.to_value(),
            origin: node.origin.clone(),
        };
        typed.reserved = reserved_again(
            &typed,
            [("name", name), ("level", level?.1), ("on_error", on_error), ("phase", phases?.1)],
            every?.1,
        );
        Some((metric, typed.into_table()))
    }

    /// A list of tables of the resolved config; an empty one is omitted.
    pub(super) fn push_list(&mut self, key: &str, nodes: Vec<Node>) {
        if let Some(origin) = nodes.first().map(|node| node.origin.clone()) {
            self.tree.push_node(key, Node { item: Item::List(nodes), origin });
        }
    }
}
