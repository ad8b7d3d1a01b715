//! Everything that a config can name: built in, or from plugin libraries.

use crate::config::PluginFolders;
use crate::config::{
    Catalog, CatalogEntry, CatalogError, Companion, DefaultHook, HookFacts, Kind, MetricHook,
    Source,
};
use crate::engine::registry::Entry;
use crate::engine::{data, loss, lr, model, optimizer, schedule};
use crate::hooks::{DEFAULT_HOOKS, HOOKS};
use crate::metrics::{COMPANIONS, METRIC_HOOKS, METRICS};
use crate::plugins::trust::Trust;
use crate::plugins::{
    Description, HookManifest, HookType, LoadError, MetricManifest, MetricType, PluginSet,
};
use hookrack_plugin_api::{OnError, Point};
use std::path::{Path, PathBuf};

/// The available hooks and metrics, and the catalogue that a config is checked against.
pub struct Inventory {
    hooks: Vec<HookType>,
    metrics: Vec<MetricType>,
    /// The libraries, and those that could not be loaded.
    pub plugin_set: PluginSet,
    /// What a config can name.
    pub catalog: Catalog,
}

impl Inventory {
    /// The built-in types and those of every library in the folders.
    pub fn take(dirs: &[PathBuf]) -> Result<Self, InventoryError> {
        Self::from_plugins(PluginSet::scan(dirs))
    }

    /// The built-in types, those of every library in a config's folders, of those that it names by path, and what the folders
    /// of `plugins.search` add.
    pub fn of(folders: &PluginFolders, named: &[PathBuf]) -> Result<Self, InventoryError> {
        Self::with(folders, named, &Trust::new(&folders.trust))
    }

    /// As [`Self::of`], with other requirements on the libraries than those of the config.
    pub fn with(
        folders: &PluginFolders,
        named: &[PathBuf],
        trust: &Trust,
    ) -> Result<Self, InventoryError> {
        let PluginFolders { dirs, search, .. } = folders;
        let is_in =
            |dirs: &[PathBuf], path: &Path| dirs.iter().any(|dir| path.parent() == Some(dir));
        // A library inside one of the folders is found there.
        let elsewhere = |path: &&PathBuf| !is_in(dirs, path) && !is_in(search, path);
        let named: Vec<_> = named.iter().filter(elsewhere).cloned().collect();
        Self::from_plugins(PluginSet::take(dirs, &named, search, trust))
    }

    fn from_plugins(plugin_set: PluginSet) -> Result<Self, InventoryError> {
        let hooks = HOOKS.iter().map(HookType::built_in).collect::<Result<Vec<_>, _>>()?;
        let metrics = METRICS.iter().map(MetricType::built_in).collect::<Result<Vec<_>, _>>()?;
        let mut inventory = Self { hooks, metrics, plugin_set, catalog: Catalog::default() };
        inventory.fill_catalog()?;
        Ok(inventory)
    }

    fn fill_catalog(&mut self) -> Result<(), CatalogError> {
        let catalog = &mut self.catalog;
        add_all(catalog, Kind::Model, model::MODELS)?;
        add_all(catalog, Kind::Layer, model::LAYERS)?;
        add_all(catalog, Kind::Loss, loss::LOSSES)?;
        add_all(catalog, Kind::Optimizer, optimizer::OPTIMIZERS)?;
        add_all(catalog, Kind::LrScheduler, lr::LR_SCHEDULES)?;
        add_all(catalog, Kind::Dataset, data::DATASETS)?;
        add_all(catalog, Kind::Transform, data::transform::TRANSFORMS)?;
        add_all(catalog, Kind::Schedule, schedule::SCHEDULES)?;
        for hook in &self.hooks {
            catalog.add(Kind::Hook, hook_entry(&hook.manifest, Source::BuiltIn, 0))?;
        }
        for metric in &self.metrics {
            catalog.add(Kind::Metric, metric_entry(&metric.manifest, Source::BuiltIn, 0))?;
        }
        // A library with a type that no config could name is set aside with the reason, like one that could not be loaded.
        for library in self.plugin_set.libraries.clone() {
            if let Err(reason) = add_library(catalog, &library.about, library.rank) {
                catalog.remove(&Source::Library(library.about.path.clone()));
                self.plugin_set.refuse(&library, &reason.to_string());
            }
        }
        for (name, key, metric) in METRIC_HOOKS {
            let (name, key) = ((*name).to_owned(), (*key).to_owned());
            catalog.add_metric_hook(MetricHook { name, key, metric: metric.map(str::to_owned) });
        }
        for (hook, metric) in COMPANIONS {
            let (hook, metric) = ((*hook).to_owned(), (*metric).to_owned());
            catalog.companions.push(Companion { hook, metric });
        }
        for (key, type_name, level) in DEFAULT_HOOKS {
            let (key, type_name) = ((*key).to_owned(), (*type_name).to_owned());
            catalog.default_hooks.push(DefaultHook { key, type_name, level: *level });
        }
        Ok(())
    }

    /// Every hook, built in and of the libraries.
    pub fn hooks(&self) -> impl Iterator<Item = (&HookManifest, Source)> {
        let built_in = self.hooks.iter().map(|hook| (&*hook.manifest, Source::BuiltIn));
        built_in.chain(self.plugin_set.hooks().map(|(hook, of)| (&**hook, source(of))))
    }

    /// Every metric, built in and of the libraries.
    pub fn metrics(&self) -> impl Iterator<Item = (&MetricManifest, Source)> {
        let built_in = self.metrics.iter().map(|metric| (&*metric.manifest, Source::BuiltIn));
        built_in.chain(self.plugin_set.metrics().map(|(metric, of)| (&**metric, source(of))))
    }

    /// The hook type that a resolved entry means. Its library is loaded now.
    pub fn hook(&self, name: &str, library: Option<&Path>) -> Result<Option<HookType>, LoadError> {
        let is_meant = |hook: &&HookType| hook.name() == name;
        let Some(path) = library else {
            return Ok(self.hooks.iter().find(is_meant).cloned());
        };
        let Some(file) = self.plugin_set.library(path) else { return Ok(None) };
        Ok(file.load()?.hooks.iter().find(is_meant).cloned())
    }

    /// The metric type that a resolved entry means. Its library is loaded now.
    pub fn metric(
        &self,
        name: &str,
        library: Option<&Path>,
    ) -> Result<Option<MetricType>, LoadError> {
        let is_meant = |metric: &&MetricType| metric.name() == name;
        let Some(path) = library else {
            return Ok(self.metrics.iter().find(is_meant).cloned());
        };
        let Some(file) = self.plugin_set.library(path) else { return Ok(None) };
        Ok(file.load()?.metrics.iter().find(is_meant).cloned())
    }
}

/// Why the inventory could not be built.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// A table is broken.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Something that is built in could not be named by any config.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

fn add_library(catalog: &mut Catalog, of: &Description, rank: usize) -> Result<(), CatalogError> {
    for hook in &of.hooks {
        catalog.add(Kind::Hook, hook_entry(hook, source(of), rank))?;
    }
    for metric in &of.metrics {
        catalog.add(Kind::Metric, metric_entry(metric, source(of), rank))?;
    }
    Ok(())
}

fn add_all<C: ?Sized, B: ?Sized>(
    catalog: &mut Catalog,
    kind: Kind,
    entries: &[Entry<C, B>],
) -> Result<(), CatalogError> {
    entries.iter().try_for_each(|entry| {
        let aliases = entry.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        let plain = CatalogEntry::new(entry.name, entry.doc, (entry.params)());
        catalog.add(kind, CatalogEntry { aliases, ..plain })
    })
}

fn source(of: &Description) -> Source {
    Source::Library(of.path.clone())
}

/// Observers are disabled when they fail; hooks that change training end the run.
fn default_policy(manifest: &HookManifest) -> OnError {
    match manifest.on_error {
        Some(policy) => policy,
        None if manifest.changes_run() => OnError::Abort,
        None => OnError::Disable,
    }
}

fn hook_entry(manifest: &HookManifest, source: Source, rank: usize) -> CatalogEntry {
    let facts = HookFacts {
        default_level: manifest.level.0,
        default_on_error: default_policy(manifest),
        default_every: manifest.every,
        default_ranks: manifest.ranks,
    };
    let roles = manifest.points.iter().filter(|point| point.is_role());
    CatalogEntry {
        aliases: manifest.aliases.clone(),
        is_open: manifest.params.is_none(),
        scalars: scalars(manifest, &source),
        source,
        rank,
        hook: Some(facts),
        roles: roles.map(|role: &Point| role.name().to_owned()).collect(),
        ..CatalogEntry::new(
            &manifest.name,
            &manifest.doc,
            manifest.params.clone().unwrap_or_default(),
        )
    }
}

/// The scalars that a hook declares to log. Built-in hooks declare all of them.
fn scalars(manifest: &HookManifest, source: &Source) -> Option<Vec<String>> {
    let is_known = manifest.names_scalars || *source == Source::BuiltIn;
    let names = manifest.writes.iter().filter(|word| word.contains('/'));
    is_known.then(|| names.cloned().collect())
}

fn metric_entry(manifest: &MetricManifest, source: Source, rank: usize) -> CatalogEntry {
    CatalogEntry {
        aliases: manifest.aliases.clone(),
        is_open: manifest.params.is_none(),
        source,
        rank,
        ..CatalogEntry::new(
            &manifest.name,
            &manifest.doc,
            manifest.params.clone().unwrap_or_default(),
        )
    }
}
