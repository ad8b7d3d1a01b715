//! The loader: iterates over an epoch in batches, from any batch on, optionally with worker threads that prefetch.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tch::Device;

use super::collate::{Filled, Job, Shapes, fill};
use super::sampler::{Order, Sampler};
use super::share::{Rank, Share};
use super::transform::{Chain, Scratch};
use super::workers::{Workers, guarded};
use super::{Batch, DataSpec, Dataset};
use crate::error::{EngineError, Result};
use crate::memory;
use hookrack_torch::block::Pool;

/// How ranks divide batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Each rank takes rows of every batch.
    Rows,
    /// Ranks take whole batches in turn.
    Batches,
}

/// How batches are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoaderSettings {
    /// Samples in a batch.
    pub batch_size: usize,
    /// A new random order in each epoch.
    pub shuffle: bool,
    /// Drop the last batch if it is incomplete.
    pub drop_last: bool,
    /// The run's seed.
    pub seed: u64,
    /// Which rows of each batch this process takes.
    pub share: Share,
    /// How ranks divide batches.
    pub division: Division,
    /// Threads that prepare batches in advance; with 0 each batch is prepared when it is requested.
    pub workers: usize,
    /// The maximum number of batches prepared in advance.
    pub prefetch: usize,
    /// Whether threads continue with the next epoch while this one ends: for loaders that run through consecutive epochs.
    pub endless: bool,
    /// Where batches are.
    pub device: Device,
}

impl LoaderSettings {
    /// Batches of this size in the data set's order, prepared when requested.
    pub fn new(batch_size: usize) -> Self {
        Self {
            batch_size,
            shuffle: false,
            drop_last: false,
            seed: 0,
            share: Share::WHOLE,
            division: Division::Rows,
            workers: 0,
            prefetch: 1,
            endless: false,
            device: Device::Cpu,
        }
    }
}

/// What makes batches: shared by the loader and its threads.
pub(super) struct BatchMaker {
    dataset: Arc<dyn Dataset>,
    chain: Chain,
    pool: Arc<Pool>,
    batch_size: usize,
    rank: Rank,
    division: Division,
    // Micro-batches of a batch; a hook may change it.
    parts: AtomicUsize,
    seed: u64,
}

impl BatchMaker {
    fn share(&self) -> Share {
        let Rank { rank, world } = self.rank;
        Share { rank, world, parts: self.parts.load(Ordering::Relaxed) }
    }

    pub(super) fn scratch(&self) -> Scratch {
        self.chain.scratch()
    }

    /// The places in the order that batch `number` takes, over all ranks.
    fn places(&self, count: usize, number: u64) -> Range<usize> {
        let start = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.batch_size);
        let end = count.min(start.saturating_add(self.batch_size));
        start.min(end)..end
    }

    /// Makes this process's share of batch `number` of an epoch.
    pub(super) fn make(
        &self,
        order: &Order,
        epoch: u64,
        number: u64,
        scratch: &mut Scratch,
    ) -> Result<Filled> {
        let places = self.places(order.count(), number);
        let share = if self.division == Division::Batches { Share::WHOLE } else { self.share() };
        let is_others = self.division == Division::Batches && !self.rank.takes(number);
        let rows = if is_others { 0 } else { places.len() };
        let job = Job { rows, share, seed: self.seed, epoch, number };
        let index = |row| order.at(places.start + row);
        fill(self.dataset.as_ref(), &self.chain, &self.pool, scratch, &job, index)
    }
}

/// Returns the batches of an epoch one by one.
pub struct Loader {
    maker: Arc<BatchMaker>,
    sampler: Sampler,
    batches: u64,
    epoch: u64,
    order: Order,
    next: u64,
    shapes: Shapes,
    scratch: Scratch,
    settings: LoaderSettings,
    // Started by the first request for a batch.
    workers: Option<Workers>,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Loader")
            .field("sampler", &self.sampler)
            .field("settings", &self.settings)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Loader {
    /// A loader of samples as they are, before the first batch of epoch 0.
    pub fn new(dataset: Arc<dyn Dataset>, settings: &LoaderSettings) -> Result<Self> {
        let chain = Chain::none(dataset.spec(), dataset.brightest());
        Self::transformed(dataset, chain, settings)
    }

    /// A loader of samples that go through a chain of transforms.
    pub fn transformed(
        dataset: Arc<dyn Dataset>,
        chain: Chain,
        settings: &LoaderSettings,
    ) -> Result<Self> {
        let LoaderSettings { batch_size, shuffle, seed, share, .. } = *settings;
        if batch_size == 0 || share.rank >= share.world {
            let Share { rank, world, .. } = share;
            let why =
                format!("batch_size = {batch_size}, rank = {rank} of {world}: no such loader");
            return Err(EngineError::Data(why));
        }
        let sampler = Sampler { len: dataset.len(), seed, shuffle };
        let batches = batches(&sampler, settings)?;
        check_memory(chain.spec(), &sampler, settings)?;
        // Batches prepared in advance, batches in use, and those that a hook may keep; an input and a label each.
        let ahead = settings.prefetch.saturating_add(settings.workers);
        let pool = Pool::new(ahead.saturating_add(2).saturating_mul(2));
        let maker = Arc::new(BatchMaker {
            dataset,
            chain,
            pool,
            batch_size,
            rank: Rank { rank: share.rank, world: share.world },
            division: settings.division,
            parts: AtomicUsize::new(share.parts),
            seed,
        });
        Ok(Self {
            shapes: Shapes::new(maker.chain.spec(), settings.device),
            scratch: maker.scratch(),
            order: sampler.order(0),
            maker,
            sampler,
            batches,
            epoch: 0,
            next: 0,
            settings: settings.clone(),
            workers: None,
        })
    }

    /// A second loader over the same samples, before the first batch of epoch 0, without threads of its own.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            maker: Arc::clone(&self.maker),
            sampler: self.sampler.clone(),
            batches: self.batches,
            epoch: 0,
            order: self.sampler.order(0),
            next: 0,
            shapes: Shapes::new(self.spec(), self.settings.device),
            scratch: self.maker.scratch(),
            settings: LoaderSettings { workers: 0, ..self.settings.clone() },
            workers: None,
        }
    }

    /// Limits every epoch to this many batches. Must be called before the first batch is requested.
    pub fn shorten(&mut self, batches: u64) {
        self.batches = self.batches.min(batches);
    }

    /// The rows of batch `number` of every epoch, over all ranks.
    pub fn rows_of(&self, number: u64) -> usize {
        self.maker.places(self.sampler.len, number).len()
    }

    /// Which rows of each batch this process takes.
    pub fn share(&self) -> Share {
        self.maker.share()
    }

    /// Sets the number of micro-batches from the next batch on, which decides the rows of each rank.
    pub fn set_parts(&mut self, parts: usize) {
        if self.maker.rank != Rank::ONLY && self.share().parts != parts {
            // Prefetched batches were split for the previous number.
            self.workers = None;
            self.maker.parts.store(parts, Ordering::Relaxed);
        }
    }

    /// Batches of an epoch of which this process takes rows.
    pub fn own_batches(&self) -> u64 {
        let Rank { rank, world } = self.maker.rank;
        let (rank, world) = (rank as u64, world as u64);
        let others = self.batches.saturating_sub(rank);
        if self.maker.division == Division::Batches { others.div_ceil(world) } else { self.batches }
    }

    /// Batches in an epoch; the same in every epoch.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Whether this many batches, at most an epoch's, fit into memory together.
    pub fn check_group(&self, group: u64) -> Result<()> {
        let (batches, rows) = (group.min(self.batches), self.settings.batch_size);
        let rows = (rows as u128 * u128::from(batches)).min(self.sampler.len as u128);
        let what = format!("{batches} batches side by side");
        memory::check("accumulate_grad_batches", what, self.spec().bytes().saturating_mul(rows))
    }

    /// The data set.
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.maker.dataset
    }

    /// What the samples of a batch look like, after all transforms.
    pub fn spec(&self) -> &DataSpec {
        self.maker.chain.spec()
    }

    /// Seeks to batch `position` of an epoch in constant time: no sample is read and no order is computed.
    pub fn begin(&mut self, epoch: u64, position: u64) {
        (self.epoch, self.next) = (epoch, position);
        self.order = self.sampler.order(epoch);
        if let Some(workers) = &self.workers {
            workers.begin(epoch, position);
        }
    }

    /// The number of batches of this epoch that were returned or skipped.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The next batch, or `None` at the end of the epoch.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.next >= self.batches {
            return Ok(None);
        }
        let filled = if self.settings.workers == 0 { self.make()? } else { self.prefetched()? };
        self.next += 1;
        self.shapes.batch(filled).map(Some)
    }

    fn make(&mut self) -> Result<Filled> {
        self.maker.make(&self.order, self.epoch, self.next, &mut self.scratch)
    }

    /// The next batch of the threads, or one that is prepared here because none of them has begun it.
    fn prefetched(&mut self) -> Result<Filled> {
        let next = self.workers()?.next();
        match next {
            Some(made) => made,
            None => guarded(self.next, || self.make()),
        }
    }

    fn workers(&mut self) -> Result<&Workers> {
        if self.workers.is_none() {
            let walk = (&self.sampler, self.batches);
            let started = Workers::start(&self.maker, walk, &self.settings)?;
            started.begin(self.epoch, self.next);
            self.workers = Some(started);
        }
        self.workers.as_ref().ok_or_else(|| EngineError::Data("no worker was started".into()))
    }
}

/// Whether a batch and those prepared in advance fit into memory.
fn check_memory(spec: &DataSpec, sampler: &Sampler, settings: &LoaderSettings) -> Result<()> {
    let rows = settings.batch_size.min(sampler.len);
    let rows = match settings.division {
        Division::Batches => rows,
        Division::Rows => settings.share.rows(rows),
    };
    let batch = spec.bytes().saturating_mul(rows as u128);
    memory::check("batch_size", format!("a batch of {rows} samples"), batch)?;
    let ahead = if settings.workers == 0 { 0 } else { settings.prefetch as u128 };
    memory::check("prefetch", format!("{ahead} batches made ahead"), batch.saturating_mul(ahead))
}

fn batches(sampler: &Sampler, settings: &LoaderSettings) -> Result<u64> {
    let (count, size) = (sampler.len, settings.batch_size);
    let batches = if settings.drop_last { count / size } else { count.div_ceil(size) };
    if batches > 0 {
        return Ok(batches as u64);
    }
    Err(EngineError::Data(match count {
        0 => "the data set is empty".to_owned(),
        _ => format!(
            "batch_size = {size} but only {count} samples, and drop_last drops an incomplete \
             batch: reduce batch_size or set drop_last = false"
        ),
    }))
}

#[cfg(test)]
mod tests;
