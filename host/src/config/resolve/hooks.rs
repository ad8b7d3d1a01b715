//! `[default_hooks]` and `[[custom_hooks]]`: which hooks run, in what order, under what policy.

use super::Resolver;
use super::policy::{EntryDefaults, ranks, time_limit};
use crate::config::cadence::{Every, Phases};
use crate::config::catalog::{DefaultHook, HookFacts, Kind};
use crate::config::check::Scope;
use crate::config::entries::MemberEntry;
use crate::config::error::Fault;
use crate::config::fixed::{MAX_MS, ON_SLOW, RANKS};
use crate::config::origin::Origin;
use crate::config::tree::{Item, Node, Table};
use hookrack_plugin_api::name::nearest;
use hookrack_plugin_api::{OnError, OnRanks};

/// A hook, its place in the resolved tree, and the roles it fills.
struct Resolved {
    hook: MemberEntry,
    table: Table,
    roles: Vec<String>,
}

impl Resolved {
    /// Whether other hooks can take over its roles.
    fn yields(&self) -> bool {
        self.hook.is_default && self.hook.library.is_none()
    }
}

/// The defaults of an entry.
struct Fallback<'a> {
    type_name: Option<&'a str>,
    level: Option<i64>,
}

/// The defaults of a hook whose provider declares none.
const PLAIN: HookFacts = HookFacts {
    default_level: 30,
    default_on_error: OnError::Abort,
    default_every: Every::Always,
    default_ranks: OnRanks::All,
};

impl Resolver<'_> {
    /// Default hooks first, then the custom ones in the order of the config.
    pub(super) fn hooks(&mut self) -> Vec<MemberEntry> {
        let mut resolved = self.default_hooks();
        let defaults = resolved.len();
        let none = Fallback { type_name: None, level: None };
        for (index, node) in self.list_of_tables("custom_hooks").iter().enumerate() {
            if self.metric_hook(node).is_none() {
                resolved.extend(self.hook(node, &Scope::entry("custom_hooks", index), &none));
            }
        }
        self.one_provider_per_role(&resolved);
        self.loss_where_it_is_needed(&resolved);
        let custom = resolved[defaults..].iter();
        let nodes = custom.map(|one| Node::table(one.table.clone(), one.hook.origin.clone()));
        self.push_list("custom_hooks", nodes.collect());
        resolved.into_iter().map(|one| one.hook).collect()
    }

    fn default_hooks(&mut self) -> Vec<Resolved> {
        let Some(section) = self.section("default_hooks") else { return Vec::new() };
        self.unknown_default_hooks(section.table);
        let catalog = self.catalog;
        let mut resolved = Vec::new();
        let mut tree = Table::default();
        for default in &catalog.default_hooks {
            let written = section.table.node(&default.key);
            let Some(node) = enabled(written) else {
                tree.entries.extend(section.table.entry(&default.key).cloned());
                continue;
            };
            let Some(mut one) = self.default_hook(default, &node) else { continue };
            one.hook.is_default = true;
            tree.push_node(&default.key, Node::table(one.table.clone(), node.origin.clone()));
            resolved.push(one);
        }
        self.tree.push_node("default_hooks", Node::table(tree, section.at.clone()));
        resolved
    }

    fn default_hook(&mut self, default: &DefaultHook, node: &Node) -> Option<Resolved> {
        let path = format!("default_hooks.{}", default.key);
        if node.as_table().is_none() {
            self.checker.wrong_type(node, &path, "a table, or false to remove the hook".into());
            return None;
        }
        // The level belongs to the position in the order, so it stays when the type is replaced.
        let fallback = Fallback { type_name: Some(&default.type_name), level: Some(default.level) };
        self.hook(node, &Scope::section(&path), &fallback)
    }

    fn unknown_default_hooks(&mut self, table: &Table) {
        let valid: Vec<_> =
            self.catalog.default_hooks.iter().map(|hook| hook.key.clone()).collect();
        for entry in table.entries.iter().filter(|entry| !valid.contains(&entry.key)) {
            self.checker.errors.add(
                &entry.key_origin,
                Fault::UnknownDefaultHook {
                    key: entry.key.clone(),
                    nearest: nearest(&entry.key, valid.iter().map(String::as_str))
                        .map(str::to_owned),
                    valid: valid.clone(),
                },
            );
        }
    }

    fn hook(&mut self, node: &Node, scope: &Scope, fallback: &Fallback<'_>) -> Option<Resolved> {
        let mut typed = self.typed(node, Kind::Hook, scope, fallback.type_name)?;
        let facts = typed.entry.hook.unwrap_or(PLAIN);
        let ranks = ranks(&typed.reserved, facts.default_ranks);
        let time_limit = time_limit(&typed.reserved);
        let limit = [MAX_MS, ON_SLOW].map(|key| typed.reserved.node(key).cloned());
        if let [None, Some(on_slow)] = &limit {
            self.checker.errors.add(
                &on_slow.origin,
                Fault::Refused {
                    key: scope.key(ON_SLOW),
                    why: "it has no effect without a time limit".to_owned(),
                    help: "add `max_ms`, the time limit of a call in milliseconds".to_owned(),
                },
            );
        }
        let defaults = EntryDefaults {
            level: fallback.level.unwrap_or(facts.default_level),
            on_error: facts.default_on_error,
            every: facts.default_every,
            phases: Phases::ALL,
        };
        let member = self.member(&mut typed, scope, &defaults, &node.origin)?;
        let ranks_of = OnRanks::from_name(ranks.as_str()?)?;
        let hook = MemberEntry { ranks: ranks_of, time_limit, ..member };
        if hook.ranks != facts.default_ranks {
            typed.reserved.push_node(RANKS, ranks);
        }
        for (key, node) in [MAX_MS, ON_SLOW].into_iter().zip(limit) {
            if let Some(node) = node {
                typed.reserved.push_node(key, node);
            }
        }
        let roles = typed.entry.roles.clone();
        Some(Resolved { hook, table: typed.into_table(), roles })
    }

    /// Whether the host computes the configured loss in training: no hook takes over the role.
    pub(super) fn computes_loss(&self, hooks: &[MemberEntry]) -> bool {
        let others = hooks.iter().filter(|hook| !hook.is_default || hook.library.is_some());
        let roles = others.filter_map(|hook| self.entry_of(hook)).flat_map(|entry| &entry.roles);
        let is_taken =
            roles.into_iter().any(|role| role == "on_train_forward" || role == "on_iter_forward");
        self.file.root.node("loss").is_some() && !is_taken
    }

    /// The built-in main hook computes the configured loss, so there must be one, unless other hooks run the model
    /// in training and in evaluation.
    fn loss_where_it_is_needed(&mut self, hooks: &[Resolved]) {
        let given = |role: &str| {
            let others = hooks.iter().filter(|one| !one.yields());
            others.flat_map(|one| &one.roles).any(|own| own == role || own == "on_iter_forward")
        };
        let root = &self.file.root;
        let data = root.node("data").and_then(Node::as_table);
        let evaluates = data.is_some_and(|data| {
            ["val", "test", "tests"].iter().any(|key| data.node(key).is_some())
        });
        let is_computed = given("on_train_forward") && (!evaluates || given("on_val_forward"));
        if root.node("loss").is_none() && !is_computed {
            let missing = Fault::MissingSection { section: "loss".into() };
            self.checker.errors.add(&self.file.origin, missing);
        }
    }

    /// A built-in default hook yields its roles; two other providers of a role are an error.
    fn one_provider_per_role(&mut self, hooks: &[Resolved]) {
        let claims: Vec<_> = hooks.iter().filter(|one| !one.yields()).collect();
        for (index, second) in claims.iter().enumerate() {
            for role in &second.roles {
                let Some(first) = claims[..index].iter().find(|one| one.roles.contains(role))
                else {
                    continue;
                };
                self.checker.errors.add(
                    &second.hook.origin,
                    Fault::TwoProviders {
                        role: role.clone(),
                        first_name: first.hook.name.clone(),
                        first: first.hook.origin.clone(),
                        second_name: second.hook.name.clone(),
                    },
                );
                break;
            }
        }
    }
}

/// The table of a default hook that is kept; `false` removes it, `true` and a missing key keep it as it is.
fn enabled(written: Option<&Node>) -> Option<Node> {
    match written {
        Some(Node { item: Item::Bool(false), .. }) => None,
        Some(Node { item: Item::Bool(true), origin }) => {
            Some(Node::table(Table::default(), origin.clone()))
        }
        Some(node) => Some(node.clone()),
        None => Some(Node::table(Table::default(), Origin::Default)),
    }
}
