//! What a config means: complete, checked, without relative paths or missing values.

use hookrack_plugin_api::Choice;

use super::catalog::Kind;
use super::entries::MemberEntry;
use super::error::{ConfigError, ConfigErrors, Fault};
use super::origin::Origin;
use super::scalars::Scalars;
use super::sections::{
    DistributedSection, Loading, ParallelSection, ParamGroups, PluginsSection, RunSection,
    TrainSection, WeightsSection,
};
use super::tree::{Item, Node, Table};
use crate::ranks::check_share;

/// The config of a run. After this nothing is defaulted.
#[derive(Clone, Debug)]
pub struct ResolvedConfig {
    /// `[run]`
    pub run: RunSection,
    /// `[model]`
    pub model: Choice,
    /// `[weights]`, or what `train.load_from` is short for.
    pub weights: Option<WeightsSection>,
    /// `[data]`
    pub data: DataSection,
    /// `[loss]`; `None` if the hook that runs the model also computes the loss.
    pub loss: Option<Choice>,
    /// `[optimizer]`
    pub optimizer: Choice,
    /// What `[optimizer]` says about groups of parameters.
    pub param_groups: ParamGroups,
    /// `[lr_scheduler]`
    pub lr_scheduler: Choice,
    /// `[schedule]`
    pub schedule: Choice,
    /// `[train]`
    pub train: TrainSection,
    /// `[distributed]`
    pub distributed: DistributedSection,
    /// `[parallel]`
    pub parallel: ParallelSection,
    /// `[plugins]`
    pub plugins: PluginsSection,
    /// Default hooks first, then the custom ones in the order of the config.
    pub hooks: Vec<MemberEntry>,
    /// In the order of the config.
    pub metrics: Vec<MemberEntry>,
    /// The scalars that training will log, as far as is known.
    pub scalars: Scalars,
    /// Whether the host computes the configured loss in training, and no hook in its place.
    pub computes_loss: bool,
    /// The same as a tree with the origin of every value.
    pub(super) tree: Table,
}

/// `[data]`: what is trained, evaluated and predicted on.
#[derive(Clone, Debug)]
pub struct DataSection {
    /// `[data.train]`
    pub train: DataSplit,
    /// `[data.val]`
    pub val: Option<DataSplit>,
    /// `[data.test]`
    pub test: Option<DataSplit>,
    /// `[data.tests.NAME]`, in order.
    pub tests: Vec<(String, DataSplit)>,
    /// `[data.pred]`
    pub pred: Option<DataSplit>,
}

/// A data set and how it is loaded.
#[derive(Clone, Debug)]
pub struct DataSplit {
    /// The data set.
    pub component: Choice,
    /// How batches are loaded from it.
    pub loading: Loading,
    /// What is done to each sample, in order.
    pub transforms: Vec<Choice>,
}

impl ResolvedConfig {
    /// The key that names the weights training starts from.
    pub fn weights_key(&self) -> &'static str {
        if self.train.load_from.is_some() { "train.load_from" } else { "weights.path" }
    }

    /// Where the value at a key path (`train.precision`, `custom_hooks.0.momentum`) came from.
    pub fn origin_of(&self, path: &str) -> Origin {
        let mut keys = path.split('.');
        let first = keys.next().and_then(|key| self.tree.node(key));
        let found = first.and_then(|first| keys.try_fold(first, child));
        found.map_or(Origin::Default, |node| node.origin.clone())
    }

    /// An error of another part of the host about a well-formed value, shown at that value.
    pub fn refuse(
        &self,
        path: &str,
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> ConfigErrors {
        let (key, why, help) = (path.to_owned(), why.into(), help.into());
        ConfigError::at(&self.origin_of(path), Fault::Refused { key, why, help }).into()
    }

    /// Divides the batches of training among ranks.
    ///
    /// # Errors
    /// The batch size is not a multiple of the number of ranks.
    pub fn check_share(&self, ranks: usize) -> Result<(), ConfigErrors> {
        check_share(*self.data.train.loading.batch_size, ranks)
            .map_err(|error| self.refuse("data.train.batch_size", error.why(), error.help()))
    }

    /// The errors of hooks that fail when they are attached, each shown at its entry.
    pub fn not_attached(&self, errors: impl IntoIterator<Item = (String, String)>) -> ConfigErrors {
        let mut all = ConfigErrors::default();
        for (name, why) in errors {
            all.add(&self.place_of(&name), Fault::NotAttached { why });
        }
        all
    }

    /// The entry of a hook or metric.
    fn place_of(&self, name: &str) -> Origin {
        let hooks = self.hooks.iter().map(|entry| (&entry.name, &entry.origin));
        let metrics = self.metrics.iter().map(|entry| (&entry.name, &entry.origin));
        let at = hooks.chain(metrics).find(|(known, _)| *known == name);
        at.map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// The error of a hook or metric that rejects its settings, shown at the key that the message begins with, or at
    /// its entry.
    pub fn not_made(&self, kind: Kind, name: String, library: String, why: String) -> ConfigErrors {
        let setting = key_of(&why).and_then(|key| self.setting_of(kind, &name, key));
        let at = setting.unwrap_or_else(|| self.place_of(&name));
        ConfigError::at(&at, Fault::NotMade { kind, name, library, why }).into()
    }

    /// Where a setting of a hook or metric is written; `None` for a default.
    fn setting_of(&self, kind: Kind, name: &str, key: &str) -> Option<Origin> {
        let section = |key: &str| self.tree.node(key);
        let listed = |key: &str| section(key).and_then(Node::as_list).unwrap_or_default().iter();
        let default_hooks = section("default_hooks").and_then(Node::as_table);
        let keyed = default_hooks.into_iter().flat_map(|table| &table.entries);
        let entries: Vec<&Node> = match kind {
            Kind::Metric => listed("metrics").collect(),
            _ => listed("custom_hooks").chain(keyed.map(|entry| &entry.node)).collect(),
        };
        let is_named = |node: &&&Node| {
            node.as_table().and_then(|table| table.node("name")?.as_str()) == Some(name)
        };
        let entry = entries.iter().find(is_named)?;
        let setting = key.split('.').try_fold(*entry, child)?;
        Some(setting.origin.clone()).filter(|origin| origin.document().is_some())
    }
}

/// The key that a message begins with: `` `betas.1`: … `` or `betas.1: …`.
fn key_of(why: &str) -> Option<&str> {
    let (key, _) = why.split_once(": ")?;
    let key = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')).unwrap_or(key);
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

fn child<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    match &node.item {
        Item::Table(table) => table.node(key),
        Item::List(list) => list.get(key.parse::<usize>().ok()?),
        _ => None,
    }
}
