//! The keys that hook and metric entries share: name, level, error policy, cadence, phases.

use hookrack_plugin_api::name::{is_name, is_number};
use hookrack_plugin_api::{Level, OnError, OnRanks};

use super::Resolver;
use super::entry::Typed;
use crate::config::cadence::{CadenceFault, Every, PHASE_NAMES, Phases};
use crate::config::catalog::Kind;
use crate::config::check::{Scope, brief};
use crate::config::entries::{MemberEntry, OnSlow, TimeLimit};
use crate::config::error::Fault;
use crate::config::fixed::{INTERVAL, MAX_MS, ON_SLOW, RANKS};
use crate::config::origin::Origin;
use crate::config::tree::{Item, Node, Table};
use hookrack_plugin_api::name::nearest;

/// The defaults of the keys that hook and metric entries share.
pub(super) struct EntryDefaults {
    pub(super) level: i64,
    pub(super) on_error: OnError,
    pub(super) every: Every,
    pub(super) phases: Phases,
}

impl Resolver<'_> {
    /// The entry of a table, with the keys that hooks and metrics share, which are completed in the resolved tree. All invalid ones are
    /// reported.
    pub(super) fn member(
        &mut self,
        typed: &mut Typed<'_>,
        scope: &Scope,
        defaults: &EntryDefaults,
        origin: &Origin,
    ) -> Option<MemberEntry> {
        let level = self.level(&typed.reserved, scope, defaults.level);
        let every = self.every(&typed.reserved, scope, defaults.every);
        let phases = self.phases(&typed.reserved, scope, defaults.phases);
        let name = self.name_node(typed);
        let on_error = on_error(&typed.reserved, defaults.on_error);
        let ((level, level_node), (every, every_node), (phases, phase_node)) =
            (level?, every?, phases?);
        let member = MemberEntry {
            name: name.as_str()?.to_owned(),
            type_name: typed.entry.name.clone(),
            library: typed.entry.source.library().map(Into::into),
            level,
            on_error: OnError::from_name(on_error.as_str()?)?,
            every,
            ranks: OnRanks::All,
            phases,
            time_limit: None,
            settings: typed.settings.to_value(),
            is_default: false,
            origin: origin.clone(),
        };
        let complete =
            [("name", name), ("level", level_node), ("on_error", on_error), ("phase", phase_node)];
        typed.reserved = reserved_again(typed, complete, every_node);
        Some(member)
    }

    /// The instance name; by default the type.
    fn name_node(&mut self, typed: &Typed<'_>) -> Node {
        let Some(node) = typed.reserved.node("name") else {
            return Node::str(typed.written_type(), Origin::Default);
        };
        let name = node.as_str().unwrap_or_default();
        if is_number(name) || !is_name(name) {
            self.checker.errors.add(&node.origin, Fault::BadName { name: brief(name) });
        }
        node.clone()
    }

    /// Reports duplicate names of hooks and metrics: a checkpoint saves their states by name.
    pub(super) fn unique_names(&mut self, hooks: &[MemberEntry], metrics: &[MemberEntry]) {
        let hooks =
            hooks.iter().map(|hook| (Kind::Hook, &hook.name, &hook.origin, hook.is_default));
        let metrics = metrics.iter().map(|one| (Kind::Metric, &one.name, &one.origin, false));
        let mut named: Vec<_> = hooks.chain(metrics).collect();
        named.sort_by_key(|(.., origin, is_default)| (!is_default, origin.reading_position()));
        for (index, &(kind, name, origin, _)) in named.iter().enumerate() {
            let earlier = named[..index].iter().find(|(_, earlier, ..)| *earlier == name);
            let Some(&(first_kind, _, first, _)) = earlier else { continue };
            let (name, first) = (name.clone(), first.clone());
            self.checker.errors.add(origin, Fault::DuplicateName { kind, name, first, first_kind });
        }
    }

    /// The level as a number, and its node in the config.
    fn level(&mut self, reserved: &Table, scope: &Scope, default: i64) -> Option<(i64, Node)> {
        let Some(node) = reserved.node("level") else {
            return Some((default, Node { item: Item::Int(default), origin: Origin::Default }));
        };
        let level = match &node.item {
            Item::Int(level) => *level,
            Item::Str(name) => self.named_level(name, &node.origin)?,
            _ => {
                let expected = "an integer or the name of a level".to_owned();
                self.checker.wrong_type(node, &scope.key("level"), expected);
                return None;
            }
        };
        Some((level, Node { item: Item::Int(level), origin: node.origin.clone() }))
    }

    fn named_level(&mut self, name: &str, at: &Origin) -> Option<i64> {
        let level = Level::from_name(name).map(|level| level.0);
        if level.is_none() {
            let names = Level::NAMED.map(|(name, _)| name);
            let (nearest, name) = (nearest(name, names), brief(name));
            self.checker.errors.add(at, Fault::UnknownLevel { name, nearest });
        }
        level
    }

    /// The cadence, and its node in the config if there is one.
    fn every(
        &mut self,
        reserved: &Table,
        scope: &Scope,
        default: Every,
    ) -> Option<(Every, Option<Node>)> {
        let Some(node) = reserved.node("every") else {
            return Some(cadence_of_hook(reserved.node(INTERVAL), default));
        };
        let key = scope.key("every");
        let read = match &node.item {
            Item::Str(text) => Every::parse(text),
            Item::Int(_) => Err(CadenceFault::NoUnit),
            _ => {
                self.checker.wrong_type(node, &key, "a cadence such as \"100it\"".into());
                return None;
            }
        };
        match read {
            Ok(every) => Some((every, Some(node.clone()))),
            Err(fault) => {
                self.checker.errors.add(&node.origin, Fault::BadCadence { key, fault });
                None
            }
        }
    }

    /// The phases, and the list of them for the resolved config.
    fn phases(
        &mut self,
        reserved: &Table,
        scope: &Scope,
        default: Phases,
    ) -> Option<(Phases, Node)> {
        let Some(node) = reserved.node("phase") else {
            return Some((default, phases_node(default, &Origin::Default)));
        };
        let key = scope.key("phase");
        let one = std::slice::from_ref(node);
        let names = node.as_list().unwrap_or(one);
        let read: Vec<_> = names.iter().map(|name| self.phase(name, &key)).collect();
        let phases: Vec<Phases> = read.into_iter().collect::<Option<_>>()?;
        let phases = phases.into_iter().fold(Phases::default(), Phases::union);
        if phases.is_empty() {
            self.checker.errors.add(&node.origin, Fault::NoPhase { key });
            return None;
        }
        Some((phases, phases_node(phases, &node.origin)))
    }

    fn phase(&mut self, node: &Node, key: &str) -> Option<Phases> {
        let Some(name) = node.as_str() else {
            self.checker.wrong_type(node, key, "the name of a phase, or a list of them".into());
            return None;
        };
        let phases = Phases::of_name(name);
        if phases.is_none() {
            let (nearest, name) = (nearest(name, PHASE_NAMES), brief(name));
            self.checker.errors.add(&node.origin, Fault::UnknownPhase { name, nearest });
        }
        phases
    }
}

/// The hook's own cadence, with the count of `interval`.
fn cadence_of_hook(interval: Option<&Node>, default: Every) -> (Every, Option<Node>) {
    let count = interval.and_then(|node| match node.item {
        Item::Int(count) => Some((u64::try_from(count).ok()?, node.origin.clone())),
        _ => None,
    });
    let (every, origin) = match count {
        Some((count, origin)) => (default.with_count(count), origin),
        None => (default, Origin::Default),
    };
    (every, (every != Every::Always).then(|| Node::str(every.to_string(), origin)))
}

fn phases_node(phases: Phases, origin: &Origin) -> Node {
    let names = phases.iter().map(|phase| Node::str(phase.name(), origin.clone()));
    Node { item: Item::List(names.collect()), origin: origin.clone() }
}

/// The error policy, or the default.
fn on_error(reserved: &Table, default: OnError) -> Node {
    let written = reserved.node("on_error").cloned();
    written.unwrap_or_else(|| Node::str(default.name(), Origin::Default))
}

/// The ranks that a hook runs on; by default those that the hook declares.
pub(super) fn ranks(reserved: &Table, default: OnRanks) -> Node {
    let written = reserved.node(RANKS).cloned();
    written.unwrap_or_else(|| Node::str(default.name(), Origin::Default))
}

/// The time that a call may take, where the config says it.
pub(super) fn time_limit(reserved: &Table) -> Option<TimeLimit> {
    let max_ms = match reserved.node(MAX_MS)?.item {
        Item::Float(max_ms) => max_ms,
        #[expect(clippy::cast_precision_loss, reason = "far fewer milliseconds than 2^53")]
        Item::Int(max_ms) => max_ms as f64,
        _ => return None,
    };
    let on_slow = reserved.node(ON_SLOW).and_then(Node::as_str).and_then(OnSlow::from_name);
    Some(TimeLimit { max_ms, on_slow: on_slow.unwrap_or_default() })
}

/// The reserved keys of a complete entry, in the order of their description.
fn reserved_again(typed: &Typed<'_>, complete: [(&str, Node); 4], every: Option<Node>) -> Table {
    let [name, level, on_error, phase] = complete;
    let library = Resolver::library_node(typed.entry, typed.reserved.node("library"));
    let library = library.map(|node| ("library", node));
    let every = every.map(|node| ("every", node));
    let mut table = Table::default();
    let entries = [library, Some(name), Some(level), Some(on_error), every, Some(phase)];
    for (key, node) in entries.into_iter().flatten() {
        table.push_node(key, node);
    }
    table
}
