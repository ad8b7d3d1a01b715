//! What a config means: complete, checked, without relative paths or missing values.

use std::path::PathBuf;

use hookrack_plugin_api::Value;
use tch::Device;

use super::entries::{HookEntry, MetricEntry};
use super::error::{ConfigError, ConfigErrors};
use super::origin::Origin;
use super::scalars::Scalars;
use super::tree::{Item, Node, Table};
pub use crate::engine::{LossScalerSettings, Precision};

/// The config of a run. After this nothing is defaulted.
#[derive(Clone, Debug)]
pub struct ResolvedConfig {
    /// `[run]`
    pub run: RunSection,
    /// `[model]`
    pub model: Component,
    /// `[weights]`, or what `train.load_from` is short for.
    pub weights: Option<WeightsSection>,
    /// `[data]`
    pub data: DataSection,
    /// `[loss]`; `None` where the hook that runs the model computes the loss too.
    pub loss: Option<Component>,
    /// `[optimizer]`
    pub optimizer: Component,
    /// What `[optimizer]` says about groups of parameters.
    pub param_groups: ParamGroups,
    /// `[lr_scheduler]`
    pub lr_scheduler: Component,
    /// `[schedule]`
    pub schedule: Component,
    /// `[train]`
    pub train: TrainSection,
    /// `[plugins]`
    pub plugins: PluginsSection,
    /// Default hooks first, then the custom ones in the order of the config.
    pub hooks: Vec<HookEntry>,
    /// In the order of the config.
    pub metrics: Vec<MetricEntry>,
    /// The scalars that training will put, as far as is known.
    pub scalars: Scalars,
    /// Whether the host computes the configured loss in training, and no hook in its place.
    pub computes_loss: bool,
    /// The same as a tree with the origin of every value.
    pub(super) tree: Table,
}

/// Something built from a `type` and its settings.
#[derive(Clone, Debug)]
pub struct Component {
    /// The type, never an alias.
    pub type_name: String,
    /// Its parameters, complete.
    pub settings: Value,
    /// The section in the config.
    pub origin: Origin,
}

/// `[run]`: where the run leaves its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSection {
    /// The name of the run's folder.
    pub name: String,
    /// The folder that holds the run folders.
    pub dir: PathBuf,
}

/// `[weights]`: values that training starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightsSection {
    /// The key that names the file: `weights.path` or `train.load_from`.
    pub key: &'static str,
    /// A file, or a directory of ours.
    pub path: PathBuf,
    /// Whether all of it must fit.
    pub strict: bool,
    /// From names in the file to names in the model.
    pub rename: Vec<RenameEntry>,
    /// Names in the file that are left out.
    pub ignore: Vec<String>,
}

/// One of `[[weights.rename]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameEntry {
    /// The name in the file.
    pub from: String,
    /// The name in the model.
    pub to: String,
    /// Whether matrices are turned.
    pub transpose: bool,
}

/// What `[optimizer]` says about groups of parameters, whatever its type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParamGroups {
    /// `[[optimizer.groups]]`
    pub groups: Vec<GroupEntry>,
    /// Leave biases and norms without weight decay.
    pub no_decay_on_norm_and_bias: bool,
}

/// One of `[[optimizer.groups]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupEntry {
    /// `match`
    pub pattern: String,
    /// The learning rate as a part of the optimizer's.
    pub lr_scale: f64,
    /// The weight decay, where it is not the optimizer's.
    pub weight_decay: Option<f64>,
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

/// A data set and how it is drawn from.
#[derive(Clone, Debug)]
pub struct DataSplit {
    /// The data set.
    pub component: Component,
    /// Samples in an iteration.
    pub batch_size: usize,
    /// Whether samples come in a random order.
    pub shuffle: bool,
    /// Whether a last batch that is not full is left out.
    pub drop_last: bool,
    /// Samples that are passed over at the beginning.
    pub skip: usize,
    /// Samples that are taken of those left; all where nothing is said.
    pub first: Option<usize>,
    /// Threads that make batches ahead.
    pub workers: usize,
    /// Batches that they make ahead at most.
    pub prefetch: usize,
    /// What is done to each sample, in order.
    pub transforms: Vec<Component>,
}

/// `[train]`
#[derive(Clone, Debug, PartialEq)]
pub struct TrainSection {
    /// When the run is complete.
    pub limit: Limit,
    /// Samples in an iteration.
    pub batch_size: usize,
    /// Every source of randomness is derived from it.
    pub seed: u64,
    /// Where the model and the batches are.
    pub device: Device,
    /// Arithmetic of the forward and backward pass.
    pub precision: Precision,
    /// How the loss is scaled in fp16.
    pub loss_scaler: LossScalerSettings,
    /// How the model runs.
    pub mode: Mode,
    /// Batches of the loader that make one iteration.
    pub accumulate_grad_batches: u64,
    /// Parts that each batch is cut into; their gradients add up to those of the whole.
    pub accumulation: usize,
    /// The largest gradient norm; 0 does not clip.
    pub clip_grad_norm: f64,
    /// Which norm that is.
    pub clip_grad_norm_type: f64,
    /// The largest number in a gradient; 0 does not clip.
    pub clip_grad_value: f64,
    /// Names of parameters that are not trained.
    pub freeze: Vec<String>,
    /// Weights that training starts from; [`ResolvedConfig::weights`] has them too.
    pub load_from: Option<PathBuf>,
    /// Seconds after which the run saves and ends; 0 for no limit.
    pub max_time: f64,
    /// Threads for arithmetic.
    pub threads: usize,
}

/// When a run is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this many passes over the training data.
    Epochs(u64),
    /// After this many iterations.
    Iters(u64),
    /// After either, whichever comes first.
    Either {
        /// Passes over the training data.
        epochs: u64,
        /// Iterations.
        iters: u64,
    },
}

/// How a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Operator by operator.
    Eager,
    /// As a compiled graph.
    Graph,
}

/// `[plugins]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginsSection {
    /// Folders with plugin libraries.
    pub dirs: Vec<PathBuf>,
    /// Folders that are searched for what those do not have, in this order; they need not exist.
    pub search: Vec<PathBuf>,
}

impl ResolvedConfig {
    /// Where the value at a key path (`train.precision`, `custom_hooks.0.momentum`) came from.
    pub fn origin_of(&self, path: &str) -> Origin {
        let mut keys = path.split('.');
        let first = keys.next().and_then(|key| self.tree.node(key));
        let found = first.and_then(|first| keys.try_fold(first, child));
        found.map_or(Origin::Default, |node| node.origin.clone())
    }

    /// The error of a part of the host that cannot serve a well-formed value, shown at that value.
    pub fn refuse(
        &self,
        path: &str,
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> ConfigErrors {
        let at = self.origin_of(path);
        let (key, why, help) = (path.to_owned(), why.into(), help.into());
        ConfigErrors::from(ConfigError::Refused { at, key, why, help })
    }

    /// The errors of hooks that fail when they are attached, each shown at its entry.
    pub fn not_attached(&self, errors: impl IntoIterator<Item = (String, String)>) -> ConfigErrors {
        let mut all = ConfigErrors::default();
        for (name, why) in errors {
            all.push(ConfigError::NotAttached { at: self.place_of(&name), why });
        }
        all
    }

    /// Where a hook or metric stands.
    fn place_of(&self, name: &str) -> Origin {
        let hooks = self.hooks.iter().map(|entry| (&entry.name, &entry.origin));
        let metrics = self.metrics.iter().map(|entry| (&entry.name, &entry.origin));
        let at = hooks.chain(metrics).find(|(known, _)| *known == name);
        at.map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// The error of a hook or metric that does not take its settings, shown at the key that its reason begins with, or at
    /// its entry.
    pub fn not_made(
        &self,
        what: &'static str,
        name: String,
        library: String,
        why: String,
    ) -> ConfigErrors {
        let setting = key_of(&why).and_then(|key| self.setting_of(what, &name, key));
        let at = setting.unwrap_or_else(|| self.place_of(&name));
        ConfigErrors::from(ConfigError::NotMade { at, what, name, library, why })
    }

    /// Where a setting of a hook or metric is written; `None` where it is not.
    fn setting_of(&self, what: &str, name: &str, key: &str) -> Option<Origin> {
        let section = |key: &str| self.tree.node(key);
        let listed = |key: &str| section(key).and_then(Node::as_list).unwrap_or_default().iter();
        let default_hooks = section("default_hooks").and_then(Node::as_table);
        let keyed = default_hooks.into_iter().flat_map(|table| &table.entries);
        let entries: Vec<&Node> = match what {
            "metric" => listed("metrics").collect(),
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

/// The key that a reason begins with: `` `betas.1`: … `` or `betas.1: …`.
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
