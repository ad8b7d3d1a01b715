//! The scalars of the run: each has one source, and a setting that names one must name one that will be logged.

use super::Resolver;
use crate::config::catalog::{CatalogEntry, Kind};
use crate::config::check::Monitor;
use crate::config::entries::MemberEntry;
use crate::config::error::Fault;
use crate::config::scalars::{LOSS_SCALING, Scalars};
use crate::config::sections::{Precision, TrainSection};
use crate::config::tree::Node;
use hookrack_plugin_api::Phase;

impl Resolver<'_> {
    /// The scalars that the run will log.
    pub(super) fn scalars(
        &self,
        hooks: &[MemberEntry],
        metrics: &[MemberEntry],
        train: Option<&TrainSection>,
    ) -> Scalars {
        let data = self.file.root.node("data").and_then(Node::as_table);
        let mut scalars = Scalars::new(data.is_some_and(|data| data.node("val").is_some()));
        for hook in hooks {
            let puts = self.entry_of(hook).and_then(|entry| entry.scalars.as_deref());
            scalars.add_hook(&hook.name, puts);
        }
        for metric in metrics {
            metric.phases.iter().for_each(|phase| scalars.add_metric(&metric.name, phase));
        }
        if train.is_some_and(|train| train.precision == Precision::Fp16) {
            for name in LOSS_SCALING {
                scalars.add(name);
            }
        }
        scalars
    }

    /// Reports each metric that would log the same scalar as a hook or another metric: one of the two values would be lost. Duplicate
    /// names have already been reported.
    pub(super) fn unique_scalars(&mut self, hooks: &[MemberEntry], metrics: &[MemberEntry]) {
        if !self.checker.errors.is_empty() {
            return;
        }
        let mut logged: Vec<(String, String)> = Vec::new();
        for hook in hooks {
            let puts = self.entry_of(hook).and_then(|entry| entry.scalars.as_deref());
            let source = format!("hook `{}`", hook.name);
            logged
                .extend(puts.unwrap_or_default().iter().map(|name| (name.clone(), source.clone())));
        }
        for metric in metrics {
            let source = format!("metric `{}`", metric.name);
            let of_phase = |phase: Phase| {
                let value = format!("{}/{}", phase.name(), metric.name);
                [Some(format!("{value}_step")).filter(|_| phase == Phase::Train), Some(value)]
            };
            let names: Vec<String> = metric.phases.iter().flat_map(of_phase).flatten().collect();
            let taken = |name: &String| logged.iter().find(|(known, _)| known == name);
            if let Some((name, other)) = names.iter().find_map(taken) {
                self.checker.errors.add(
                    &metric.origin,
                    Fault::Refused {
                        key: name.clone(),
                        why: format!("the {other} and the {source} would both log it"),
                        help: "give the metric another name: `name = \"…\"`".to_owned(),
                    },
                );
            }
            logged.extend(names.into_iter().map(|name| (name, source.clone())));
        }
    }

    /// The catalogue's entry of a resolved hook.
    pub(super) fn entry_of(&self, hook: &MemberEntry) -> Option<&CatalogEntry> {
        let library = hook.library.as_deref();
        self.catalog
            .of(Kind::Hook)
            .find(|entry| entry.name == hook.type_name && entry.source.library() == library)
    }

    /// Reports each setting that names a scalar that nothing will log. Another error may be the reason, so
    /// other errors come first.
    pub(super) fn monitors(&mut self, scalars: &Scalars) {
        let monitors = std::mem::take(&mut self.checker.monitors);
        if !self.checker.errors.is_empty() {
            return;
        }
        for Monitor { at, key, name } in monitors.into_iter().filter(|one| !one.name.is_empty()) {
            let Err(unknown) = scalars.expect(&name) else { continue };
            if unknown.is_sure {
                let unknown = Box::new(unknown);
                self.checker.errors.add(&at, Fault::NotLogged { key, name, unknown });
                continue;
            }
            let meant = unknown.nearest.map(|meant| format!("; did you mean `{meant}`?"));
            let meant = meant.unwrap_or_default();
            tracing::warn!("{at}: `{key}`: nothing is known to log `{name}`{meant}");
        }
    }
}
