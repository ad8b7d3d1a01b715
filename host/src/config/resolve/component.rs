//! `[model]`, `[loss]`, `[optimizer]`, `[lr_scheduler]`, `[schedule]`: one component each, by `type`.

use super::Resolver;
use crate::config::check::Scope;
use crate::config::error::Fault;
use crate::config::fixed::{ComponentSection, SCHEDULE};
use crate::config::origin::Origin;
use crate::config::tree::{Node, Table};
use hookrack_plugin_api::Choice;

impl Resolver<'_> {
    pub(super) fn component(&mut self, section: &ComponentSection) -> Option<Choice> {
        self.component_and_shared(section).map(|(component, _)| component)
    }

    /// A component, and the keys that every type of its kind has.
    pub(super) fn component_and_shared(
        &mut self,
        section: &ComponentSection,
    ) -> Option<(Choice, Table)> {
        self.component_at(section, self.file.root.node(section.key))
    }

    /// `[schedule]`. A pipeline without a number of stages has that of `parallel.pipeline`.
    pub(super) fn schedule(&mut self) -> Option<Choice> {
        let root = &self.file.root;
        let stages = root.node("parallel").and_then(|node| node.as_table()?.node("pipeline"));
        let own = root.node(SCHEDULE.key);
        let table = own.and_then(Node::as_table).filter(|table| {
            let kind = table.str("type").filter(|kind| Some(*kind) != SCHEDULE.default_type);
            kind.is_some() && table.node("stages").is_none()
        });
        let filled = own.zip(table).zip(stages).map(|((own, table), stages)| {
            let mut table = table.clone();
            table.push_node("stages", stages.clone());
            Node::table(table, own.origin.clone())
        });
        self.component_at(&SCHEDULE, filled.as_ref().or(own)).map(|(schedule, _)| schedule)
    }

    fn component_at(
        &mut self,
        section: &ComponentSection,
        node: Option<&Node>,
    ) -> Option<(Choice, Table)> {
        let absent = Node::table(Table::default(), Origin::Default);
        let (node, fallback) = match node {
            Some(node) => (node, None),
            None => (&absent, Some(self.default_type(section)?)),
        };
        let scope = Scope::section(section.key);
        let typed = self.typed(node, section.kind, &scope, fallback)?;
        let component = typed.choice();
        let shared = typed.reserved.clone();
        let node = Node::table(typed.into_table(), node.origin.clone());
        self.tree.push_node(section.key, node);
        Some((component, shared))
    }

    fn default_type(&mut self, section: &ComponentSection) -> Option<&'static str> {
        let known = |name: &&str| !self.catalog.named(section.kind, name).is_empty();
        let default = section.default_type.filter(known);
        if default.is_none() {
            let section = section.key.to_owned();
            self.checker.errors.add(&self.file.origin, Fault::MissingSection { section });
        }
        default
    }
}
