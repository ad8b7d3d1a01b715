//! The data of a run: a loader for each split of the config.

use super::build_engine::refused;
use crate::config::{ConfigErrors, DataSplit, ResolvedConfig};
use crate::context::OwnPass;
use crate::engine::data::transform::Chain;
use crate::engine::data::{
    DATASETS, Dataset, Division, Loader, LoaderSettings, Rank, Share, Subset, Target, Vocabulary,
};
use crate::engine::registry::Build as _;
use hookrack_plugin_api::Phase;
use std::sync::Arc;

/// The data of a run.
pub struct Loaders {
    /// Training data.
    pub train: Loader,
    /// Validation data.
    pub val: Option<Loader>,
    /// Test data.
    pub test: Option<Loader>,
    /// Named test sets.
    pub tests: Vec<(String, Loader)>,
    /// Data to predict.
    pub pred: Option<Loader>,
    /// Where the batches are.
    pub device: tch::Device,
}

/// The data of a pass without training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EvalSet {
    Val,
    Test,
    /// One of the test sets with a name, by its number.
    NamedTest(usize),
    Pred,
}

impl EvalSet {
    pub(super) fn phase(self) -> Phase {
        match self {
            Self::Val => Phase::Val,
            Self::Test | Self::NamedTest(_) => Phase::Test,
            Self::Pred => Phase::Pred,
        }
    }
}

impl Loaders {
    /// The number of training samples.
    pub fn samples(&self) -> u64 {
        self.train.dataset().len() as u64
    }

    pub(super) fn get(&mut self, split: EvalSet) -> Option<&mut Loader> {
        match split {
            EvalSet::Val => self.val.as_mut(),
            EvalSet::Test => self.test.as_mut(),
            EvalSet::NamedTest(number) => self.tests.get_mut(number).map(|(_, loader)| loader),
            EvalSet::Pred => self.pred.as_mut(),
        }
    }

    /// A hook's own pass over the same samples; the position of these loaders does not change.
    pub(super) fn own_pass(&self) -> OwnPass {
        let evaluated =
            [(Phase::Val, &self.val), (Phase::Test, &self.test), (Phase::Pred, &self.pred)];
        let evaluated = evaluated
            .into_iter()
            .filter_map(|(phase, loader)| loader.as_ref().map(|loader| (phase, loader.again())));
        let sources = std::iter::once((Phase::Train, self.train.again())).chain(evaluated);
        OwnPass::new(sources.collect())
    }
}

/// Divides the batches of a split among the ranks that share them. Only training splits them, into micro-batches first; in an evaluation each rank takes
/// whole batches, so that all numbers equal those of one process.
fn share(key: &str, part: Shared) -> Share {
    let parts = if key == "data.train" { part.parts } else { 1 };
    Share { rank: part.rank.rank, world: part.rank.world, parts }
}

/// What a process takes of each batch.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    /// Its place among those that share it.
    pub(super) rank: Rank,
    /// Micro-batches of a batch.
    pub(super) parts: usize,
    /// Where the batches are.
    pub(super) device: tch::Device,
}

fn loader(
    config: &ResolvedConfig,
    key: &str,
    split: &DataSplit,
    part: Shared,
) -> Result<Loader, ConfigErrors> {
    let dataset = split
        .component
        .build(DATASETS, &())
        .and_then(|whole| Subset::of(whole, split.loading.skip, split.loading.first))
        .map_err(refused(config, key))?;
    let chain = Chain::build(&split.transforms, &dataset.spec(), dataset.brightest())
        .map_err(|(number, error)| refused(config, &format!("{key}.transforms.{number}"))(error))?;
    if matches!(chain.spec().target, Target::Shares(_)) && dataset.has_ignored() {
        let why = "labels that the loss ignores cannot be mixed: they have no class";
        let help = "remove the transform that mixes samples, or these samples";
        return Err(config.refuse(&format!("{key}.transforms"), why, help));
    }
    let settings = LoaderSettings {
        batch_size: *split.loading.batch_size,
        shuffle: *split.loading.shuffle,
        drop_last: split.loading.drop_last,
        seed: config.train.seed,
        share: share(key, part),
        division: if key == "data.train" { Division::Rows } else { Division::Batches },
        workers: split.loading.workers,
        prefetch: split.loading.prefetch,
        endless: key == "data.train",
        device: part.device,
    };
    let loader = Loader::transformed(Arc::from(dataset), chain, &settings);
    loader.map_err(refused(config, key)).inspect(|loader| {
        let (samples, batches) = (loader.dataset().len(), loader.batches());
        let name = &split.component.name;
        tracing::debug!("{key}: {name}, {samples} samples in {batches} batches");
    })
}

/// A loader of a split whose samples must have the shape of training samples.
fn beside(
    config: &ResolvedConfig,
    key: &str,
    split: Option<&DataSplit>,
    train: &Loader,
    part: Shared,
) -> Result<Option<Loader>, ConfigErrors> {
    let Some(split) = split else { return Ok(None) };
    let loader = loader(config, key, split, part)?;
    if let Some(why) = loader.spec().unlike(train.spec()) {
        let help = "all splits must have the sample shape and the number of classes of data.train";
        return Err(config.refuse(key, why, help));
    }
    // The labels of data to predict are not used.
    if key != "data.pred" {
        same_classes(config, key, loader.dataset().as_ref(), train.dataset().as_ref())?;
    }
    match (loader.dataset().vocabulary(), train.dataset().vocabulary()) {
        (Vocabulary::Chars(here), Vocabulary::Chars(there)) if here != there => {
            let why = "its characters are not those of data.train: a token would stand for another character";
            Err(config.refuse(key, why, "set `vocabulary` to the same file in every section"))
        }
        _ => Ok(Some(loader)),
    }
}

/// Refuses a split in which a class has another index than in training: each data set numbers the classes that it finds.
fn same_classes(
    config: &ResolvedConfig,
    key: &str,
    split: &dyn Dataset,
    train: &dyn Dataset,
) -> Result<(), ConfigErrors> {
    let pairs = split.class_names().iter().zip(train.class_names());
    match pairs.enumerate().find(|(_, (here, there))| here != there) {
        None => Ok(()),
        Some((index, (here, there))) => {
            let why = format!("class {index} is `{here}` here and `{there}` in data.train");
            Err(config.refuse(key, why, "set `classes` to the same list in every section"))
        }
    }
}

/// Refuses batches that the ranks cannot divide: each rank must have rows of every micro-batch.
fn check_share(config: &ResolvedConfig, train: &Loader, batch: usize) -> Result<(), ConfigErrors> {
    if train.share().world == 1 {
        return Ok(());
    }
    config.check_share(train.share().world)?;
    let (share, last) = (train.share(), train.rows_of(train.batches().saturating_sub(1)));
    let (world, parts) = (share.world, share.parts);
    if share.smallest(batch) == 0 {
        let why = format!(
            "a batch of {batch} in {parts} micro-batches is too small for {world} ranks: each needs a row of every micro-batch"
        );
        let help = format!("lower train.accumulation to {} or less", batch / world);
        return Err(config.refuse("train.accumulation", why, help));
    }
    if share.smallest(last) == 0 {
        let why = format!(
            "the last batch of an epoch has {last} samples, too few for {world} ranks and {parts} micro-batches"
        );
        let help = "set data.train.drop_last = true, or choose another batch size";
        return Err(config.refuse("data.train.batch_size", why, help));
    }
    Ok(())
}

/// Reads the data of every split, for one of the ranks; those that only evaluate do not share batches of training.
pub(super) fn loaders(
    config: &ResolvedConfig,
    part: Shared,
    trains: bool,
) -> Result<Loaders, ConfigErrors> {
    let data = &config.data;
    let training = if trains { part } else { Shared { rank: Rank::ONLY, ..part } };
    let train = loader(config, "data.train", &data.train, training)?;
    let (wanted, found) = (*data.train.loading.batch_size, train.dataset().len());
    if wanted > found {
        let why = format!("{wanted} is more than the {found} samples of the data set");
        let help = format!("set batch_size = {found} or less");
        return Err(config.refuse("data.train.batch_size", why, help));
    }
    check_share(config, &train, wanted)?;
    if trains && training.rank.rank == 0 && matches!(train.spec().target, Target::Classes(1)) {
        tracing::warn!(
            "data.train has one class: there is nothing to learn, and cross entropy is always 0"
        );
    }
    let group = config.train.accumulate_grad_batches;
    train.check_group(group).map_err(refused(config, "train"))?;
    let other = |key, split: &Option<DataSplit>| beside(config, key, split.as_ref(), &train, part);
    let (val, test) = (other("data.val", &data.val)?, other("data.test", &data.test)?);
    let pred = other("data.pred", &data.pred)?;
    let mut tests = Vec::new();
    for (name, split) in &data.tests {
        let set = beside(config, &format!("data.tests.{name}"), Some(split), &train, part)?;
        tests.extend(set.map(|set| (name.clone(), set)));
    }
    Ok(Loaders { train, val, test, tests, pred, device: part.device })
}

/// Iterations of an epoch: optimizer steps, however many batches each has.
pub fn iters_in_epoch(config: &ResolvedConfig, train: &Loader) -> u64 {
    train.batches().div_ceil(config.train.accumulate_grad_batches.max(1)).max(1)
}
