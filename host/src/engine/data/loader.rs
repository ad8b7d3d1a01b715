//! The loader: walks an epoch's order in batches, from any batch on.

use std::sync::Arc;

use super::sampler::{Remainder, Sampler, Shard};
use super::{Batch, Dataset};
use crate::engine::error::{EngineError, Result};

/// How batches are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoaderSettings {
    /// Samples in a batch.
    pub batch_size: usize,
    /// A new random order in each epoch.
    pub shuffle: bool,
    /// Leave out a last batch that is not full.
    pub drop_last: bool,
    /// The run's seed.
    pub seed: u64,
    /// Which part of the samples this process draws.
    pub shard: Shard,
    /// What happens to samples that cannot be dealt out evenly to all ranks.
    pub remainder: Remainder,
}

/// Gives the batches of an epoch one by one.
pub struct Loader {
    dataset: Arc<dyn Dataset>,
    sampler: Sampler,
    batch_size: usize,
    batches: u64,
    // The order of the epoch that was begun; the buffer is reused by the next.
    order: Vec<usize>,
    next: u64,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Loader")
            .field("sampler", &self.sampler)
            .field("batch_size", &self.batch_size)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Loader {
    /// A loader that stands before the first batch of epoch 0.
    pub fn new(dataset: Arc<dyn Dataset>, settings: &LoaderSettings) -> Result<Self> {
        let LoaderSettings { batch_size, shuffle, drop_last, seed, shard, remainder } = *settings;
        if batch_size == 0 || shard.rank >= shard.world {
            let Shard { rank, world } = shard;
            let why =
                format!("batch_size = {batch_size}, rank = {rank} of {world}: no such loader");
            return Err(EngineError::Data(why));
        }
        let sampler = Sampler { len: dataset.len(), seed, shuffle, shard, remainder };
        let count = sampler.count();
        let batches = if drop_last { count / batch_size } else { count.div_ceil(batch_size) };
        if batches == 0 {
            let why = match (dataset.len(), count) {
                (0, _) => "the data set is empty".to_owned(),
                (len, 0) => format!("{len} samples are too few for {} ranks", shard.world),
                _ => format!(
                    "batch_size = {batch_size} but only {count} samples, and drop_last leaves out a batch \
                     that is not full: make batch_size smaller or set drop_last = false"
                ),
            };
            return Err(EngineError::Data(why));
        }
        let mut loader = Self {
            dataset,
            sampler,
            batch_size,
            batches: batches as u64,
            order: Vec::new(),
            next: 0,
        };
        loader.begin(0, 0);
        Ok(loader)
    }

    /// Batches in an epoch; the same in every epoch.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// The data set.
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.dataset
    }

    /// Goes to batch `position` of an epoch. No sample is read.
    pub fn begin(&mut self, epoch: u64, position: u64) {
        self.sampler.order(epoch, &mut self.order);
        self.next = position;
    }

    /// How many batches of this epoch were given or passed over.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The next batch, or `None` at the end of the epoch.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.next >= self.batches {
            return Ok(None);
        }
        let start =
            usize::try_from(self.next).unwrap_or(usize::MAX).saturating_mul(self.batch_size);
        let end = self.order.len().min(start.saturating_add(self.batch_size));
        let batch = self.dataset.batch(self.order.get(start..end).unwrap_or_default())?;
        self.next += 1;
        Ok(Some(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DataSpec, Target, size};
    use super::*;
    use crate::torch::buffer;

    /// Its samples are their own numbers.
    struct Count(usize);

    impl Dataset for Count {
        fn len(&self) -> usize {
            self.0
        }
        fn spec(&self) -> DataSpec {
            DataSpec { input: vec![], target: Target::Values(vec![]) }
        }
        fn batch(&self, indices: &[usize]) -> Result<Batch> {
            let fill = |memory: &mut [i64]| {
                for (place, index) in memory.iter_mut().zip(indices) {
                    *place = size(*index);
                }
            };
            let input = buffer::filled(&[size(indices.len())], fill)?;
            Ok(Batch { label: input.shallow_clone(), input })
        }
    }

    fn loader(len: usize, batch_size: usize, drop_last: bool) -> Result<Loader> {
        let settings = LoaderSettings {
            batch_size,
            shuffle: true,
            drop_last,
            seed: 5,
            shard: Shard::WHOLE,
            remainder: Remainder::Keep,
        };
        Loader::new(Arc::new(Count(len)), &settings)
    }

    fn rest(loader: &mut Loader) -> Vec<Vec<i64>> {
        let mut batches = Vec::new();
        while let Some(batch) = loader.next_batch().unwrap() {
            batches.push(Vec::try_from(batch.input).unwrap());
        }
        batches
    }

    #[test]
    fn starting_anywhere_gives_the_tail() {
        let mut loader = loader(23, 4, false).unwrap();
        loader.begin(6, 0);
        let all = rest(&mut loader);
        assert_eq!(all.len(), 6);
        assert_eq!(all[5].len(), 3);
        for position in 0..=6 {
            loader.begin(6, position);
            let from = usize::try_from(position).unwrap();
            assert_eq!(rest(&mut loader), all[from..]);
        }
        loader.begin(7, 0);
        assert_ne!(rest(&mut loader), all);
    }

    #[test]
    fn a_last_batch_that_is_not_full_may_be_left_out() {
        let mut loader = loader(23, 4, true).unwrap();
        assert_eq!(loader.batches(), 5);
        assert!(rest(&mut loader).iter().all(|batch| batch.len() == 4));
    }

    #[test]
    fn a_loader_without_a_batch_is_refused_with_the_reason() {
        let text = |len, batch_size| loader(len, batch_size, true).unwrap_err().to_string();
        assert!(text(3, 4).contains("batch_size = 4 but only 3 samples"));
        assert_eq!(text(0, 4), "data: the data set is empty");
        assert!(text(4, 0).contains("batch_size = 0"));
    }
}
