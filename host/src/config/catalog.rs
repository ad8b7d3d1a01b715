//! The catalogue: everything a config can name by `type =`, built in or from plugins.
//!
//! The host fills it from its own registries and from the manifests of plugin libraries; checking,
//! defaults, documentation and the schema all read the same parameter descriptions.

use std::path::{Path, PathBuf};

use hookrack_plugin_api::every::Every;
use hookrack_plugin_api::{OnError, OnRanks, Param};
use thiserror::Error;

use super::fixed;

/// What a `type =` selects. Each kind has its own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[model]`
    Model,
    /// `[[model.layers]]`
    Layer,
    /// `[loss]`
    Loss,
    /// `[optimizer]`
    Optimizer,
    /// `[lr_scheduler]`
    LrScheduler,
    /// `[data.train]` and its siblings
    Dataset,
    /// An entry of a split's `transforms`
    Transform,
    /// `[schedule]`
    Schedule,
    /// `[[custom_hooks]]` and `[default_hooks]`
    Hook,
    /// `[[metrics]]`
    Metric,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Model,
        Self::Layer,
        Self::Loss,
        Self::Optimizer,
        Self::LrScheduler,
        Self::Dataset,
        Self::Transform,
        Self::Schedule,
        Self::Hook,
        Self::Metric,
    ];

    /// The word for it in a message.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Layer => "layer",
            Self::Loss => "loss",
            Self::Optimizer => "optimizer",
            Self::LrScheduler => "lr scheduler",
            Self::Dataset => "data set",
            Self::Transform => "transform",
            Self::Schedule => "schedule",
            Self::Hook => "hook",
            Self::Metric => "metric",
        }
    }

    /// Whether shared libraries can provide this kind.
    pub fn comes_from_libraries(self) -> bool {
        matches!(self, Self::Hook | Self::Metric)
    }
}

/// The provider of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The host itself.
    BuiltIn,
    /// The shared library at this path.
    Library(PathBuf),
}

impl Source {
    /// The path of the library, if it is one.
    pub fn library(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn => None,
            Self::Library(path) => Some(path),
        }
    }
}

/// What the host knows about a hook beyond its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookFacts {
    /// The level of an entry without one.
    pub default_level: i64,
    /// The error policy of an entry without one.
    pub default_on_error: OnError,
    /// The cadence of an entry without one.
    pub default_every: Every,
    /// The ranks of an entry without any.
    pub default_ranks: OnRanks,
}

/// One thing that a config can name by `type =`.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogEntry {
    /// The name; the resolved config always uses it.
    pub name: String,
    /// Other names that mean the same.
    pub aliases: Vec<String>,
    /// One sentence.
    pub doc: String,
    /// Its settings.
    pub params: Vec<Param>,
    /// Whether it accepts settings that are not described, and checks them itself.
    pub is_open: bool,
    /// Its provider.
    pub source: Source,
    /// Among libraries with the same name, the lowest wins: 0 for those of the config's own folders.
    pub rank: usize,
    /// Present for hooks.
    pub hook: Option<HookFacts>,
    /// The exclusive roles (`on_*` points) that it fills.
    pub roles: Vec<String>,
    /// The full names of the scalars that it logs beside its own `hook/<instance>/…`; `None` if it does not declare them.
    pub scalars: Option<Vec<String>>,
}

impl CatalogEntry {
    /// An entry of the host itself, with nothing but what every kind has.
    pub fn new(name: &str, doc: &str, params: Vec<Param>) -> Self {
        Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            doc: doc.to_owned(),
            params,
            is_open: false,
            source: Source::BuiltIn,
            rank: 0,
            hook: None,
            roles: Vec::new(),
            scalars: Some(Vec::new()),
        }
    }

    /// Whether `type = name` means this entry.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Whether it is a hook with a cadence of its own, which `interval` changes as `every` does.
    pub fn has_cadence(&self) -> bool {
        self.hook.is_some_and(|facts| facts.default_every != Every::Always)
    }

    /// The name and the aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }
}

/// A hook that runs unless the config says otherwise under `[default_hooks]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultHook {
    /// The key in `[default_hooks]`.
    pub key: String,
    /// The hook's type.
    pub type_name: String,
    /// Its level; default hooks have distinct ones, so that a custom hook fits between any two.
    pub level: i64,
}

/// A name under `[[custom_hooks]]` that adds a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricHook {
    /// The `type` of the entry.
    pub name: String,
    /// The key of the entry with the metric's type.
    pub key: String,
    /// The metric's type if the key is not set; without one it must be.
    pub metric: Option<String>,
}

/// A metric that comes with a hook of `[[custom_hooks]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// The `type` of the hook's entry.
    pub hook: String,
    /// The metric's type, and its name.
    pub metric: String,
}

/// Everything a config can name.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: Vec<(Kind, CatalogEntry)>,
    /// The hooks that run unless a config says otherwise.
    pub default_hooks: Vec<DefaultHook>,
    metric_hooks: Vec<MetricHook>,
    /// The metrics that come with hooks of `[[custom_hooks]]`.
    pub companions: Vec<Companion>,
}

/// Why an entry cannot be added to the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum CatalogError {
    #[error("{kind} `{name}` has a parameter `{param}`, a key that every {kind} entry already has; rename the parameter", kind = kind.noun())]
    ReservedParam { kind: Kind, name: String, param: String },
    #[error("{kind} `{name}` is provided twice by the same library; give one of them another name", kind = kind.noun())]
    Duplicate { kind: Kind, name: String },
}

impl Catalog {
    /// Adds an entry. The same name from two libraries is fine until a config uses it.
    pub fn add(&mut self, kind: Kind, entry: CatalogEntry) -> Result<(), CatalogError> {
        let reserved = fixed::reserved_keys(kind);
        let is_reserved = |key: &&str| reserved.iter().any(|reserved| reserved == key);
        if let Some(param) = entry.params.iter().flat_map(Param::keys).find(is_reserved) {
            let (name, param) = (entry.name.clone(), param.to_owned());
            return Err(CatalogError::ReservedParam { kind, name, param });
        }
        let taken = |name: &&str| {
            self.of(kind).any(|other| other.source == entry.source && other.answers_to(name))
        };
        if let Some(name) = entry.names().find(taken) {
            return Err(CatalogError::Duplicate { kind, name: name.to_owned() });
        }
        self.entries.push((kind, entry));
        Ok(())
    }

    /// Removes every entry of a source.
    pub fn remove(&mut self, source: &Source) {
        self.entries.retain(|(_, entry)| entry.source != *source);
    }

    /// Adds a hook name that adds a metric.
    pub fn add_metric_hook(&mut self, hook: MetricHook) {
        self.metric_hooks.push(hook);
    }

    /// The names under `[[custom_hooks]]` that add a metric.
    pub fn metric_hooks(&self) -> &[MetricHook] {
        &self.metric_hooks
    }

    /// The entries of a kind, in the order in which they were added.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &CatalogEntry> {
        self.entries.iter().filter(move |(of, _)| *of == kind).map(|(_, entry)| entry)
    }

    /// Every entry that `type = name` could mean.
    pub(super) fn named<'a>(&'a self, kind: Kind, name: &'a str) -> Vec<&'a CatalogEntry> {
        self.of(kind).filter(|entry| entry.answers_to(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use hookrack_plugin_api::{ParamType, Presence};

    use super::*;
    use crate::config::tests::param as param_of;

    fn hook(name: &str, param: &str) -> CatalogEntry {
        let param = param_of(param, ParamType::Any, Presence::Optional);
        CatalogEntry::new(name, "", vec![param])
    }

    #[test]
    fn a_parameter_that_could_never_be_set_is_refused() {
        let refused = Catalog::default().add(Kind::Hook, hook("Ema", "level")).unwrap_err();
        assert!(refused.to_string().contains("`level`"), "{refused}");
        assert!(Catalog::default().add(Kind::Model, hook("Mlp", "level")).is_ok());
    }

    #[test]
    fn one_name_has_one_entry_per_source() {
        let mut catalog = Catalog::default();
        catalog.add(Kind::Hook, hook("Ema", "momentum")).unwrap();
        assert!(catalog.add(Kind::Hook, hook("Ema", "momentum")).is_err());
        let library = Source::Library("libema.so".into());
        let twin = CatalogEntry { source: library, ..hook("Ema", "momentum") };
        assert!(catalog.add(Kind::Hook, twin).is_ok());
    }
}
