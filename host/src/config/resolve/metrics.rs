//! `[[metrics]]`: what is measured, and in which phases.

use super::Resolver;
use super::metric_hooks::brought;
use super::policy::EntryDefaults;
use crate::config::cadence::{Every, Phases};
use crate::config::catalog::Kind;
use crate::config::check::Scope;
use crate::config::entries::{METRIC_LEVEL, MemberEntry};
use crate::config::tree::{Item, Node};
use hookrack_plugin_api::OnError;

/// A metric, and its place in the resolved tree.
type Resolved = (MemberEntry, Node);

impl Resolver<'_> {
    pub(super) fn metrics(&mut self) -> Vec<MemberEntry> {
        let mut resolved = Vec::new();
        for (index, node) in self.list_of_tables("metrics").iter().enumerate() {
            resolved.extend(self.metric(node, &Scope::entry("metrics", index)));
        }
        for (index, node) in self.hook_nodes().iter().enumerate() {
            let Some(hook) = self.metric_hook(node) else { continue };
            let Some(node) = self.as_metric(node, hook) else { continue };
            resolved.extend(self.metric(&node, &Scope::entry("custom_hooks", index)));
        }
        // Those that hooks bring with them, unless the config already has one of that name, as a resolved config does.
        for (index, node) in self.hook_nodes().iter().enumerate() {
            let companion = self.companion(node).filter(|companion| {
                !resolved.iter().any(|(known, _): &Resolved| known.name == companion.metric)
            });
            let Some(companion) = companion else { continue };
            let node = brought(companion, node);
            resolved.extend(self.metric(&node, &Scope::entry("custom_hooks", index)));
        }
        let (metrics, nodes) = resolved.into_iter().unzip();
        self.push_list("metrics", nodes);
        metrics
    }

    fn metric(&mut self, node: &Node, scope: &Scope) -> Option<Resolved> {
        let mut typed = self.typed(node, Kind::Metric, scope, None)?;
        let defaults = EntryDefaults {
            level: METRIC_LEVEL,
            on_error: OnError::Abort,
            every: Every::Always,
            phases: Phases::EVAL,
        };
        let metric = self.member(&mut typed, scope, &defaults, &node.origin)?;
        Some((metric, Node::table(typed.into_table(), node.origin.clone())))
    }

    /// A list of tables of the resolved config; an empty one is omitted.
    pub(super) fn push_list(&mut self, key: &str, nodes: Vec<Node>) {
        if let Some(origin) = nodes.first().map(|node| node.origin.clone()) {
            self.tree.push_node(key, Node { item: Item::List(nodes), origin });
        }
    }
}
