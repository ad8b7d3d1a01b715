//! The order in which samples are drawn: a function of seed, epoch and rank, and of nothing else.

use super::permutation::Permutation;

/// Which part of the samples this process draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// This process.
    pub rank: usize,
    /// How many processes share the samples.
    pub world: usize,
}

impl Shard {
    /// One process draws everything.
    pub const WHOLE: Self = Self { rank: 0, world: 1 };
}

/// What happens to samples that cannot be dealt out evenly to all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remainder {
    /// The first ranks draw one more. Every sample is drawn once: for evaluation.
    Keep,
    /// Some samples are drawn twice, so that all ranks draw equally many: for training.
    Repeat,
    /// The last few in the order are left out of this epoch.
    Drop,
}

/// Draws samples of a data set of `len`.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// Samples in the data set.
    pub len: usize,
    /// The run's seed.
    pub seed: u64,
    /// A new random order in each epoch; else the data set's own.
    pub shuffle: bool,
    /// Which part is drawn.
    pub shard: Shard,
    /// What happens to an uneven rest.
    pub remainder: Remainder,
}

impl Sampler {
    /// How many samples this rank draws in an epoch.
    pub fn count(&self) -> usize {
        let Shard { rank, world } = self.shard;
        let (even, rest) = (self.len / world.max(1), self.len % world.max(1));
        even + match self.remainder {
            Remainder::Keep => usize::from(rank < rest),
            Remainder::Repeat => usize::from(rest > 0),
            Remainder::Drop => 0,
        }
    }

    /// The order of an epoch. Nothing is computed before a place is asked for.
    pub fn order(&self, epoch: u64) -> Order {
        // All ranks have the same order and take turns in it.
        let permutation = self.shuffle.then(|| Permutation::new(self.len, &[self.seed, epoch]));
        Order { permutation, len: self.len, count: self.count(), shard: self.shard }
    }
}

/// The samples that a rank draws in an epoch, in order.
#[derive(Debug, Clone)]
pub struct Order {
    permutation: Option<Permutation>,
    len: usize,
    count: usize,
    shard: Shard,
}

impl Order {
    /// Number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The sample at a place below `count`, at the same cost wherever that is.
    pub fn at(&self, place: usize) -> usize {
        let turn = self.shard.rank + place * self.shard.world;
        // Those that are drawn twice come again from the beginning.
        let turn = if self.len == 0 { 0 } else { turn % self.len };
        self.permutation.as_ref().map_or(turn, |permutation| permutation.at(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(
        len: usize,
        epoch: u64,
        rank: usize,
        world: usize,
        remainder: Remainder,
    ) -> Vec<usize> {
        let shard = Shard { rank, world };
        let sampler = Sampler { len, seed: 42, shuffle: true, shard, remainder };
        let order = sampler.order(epoch);
        (0..order.count()).map(|place| order.at(place)).collect()
    }

    fn all_ranks(len: usize, world: usize, remainder: Remainder) -> Vec<usize> {
        let mut all: Vec<_> =
            (0..world).flat_map(|rank| order(len, 3, rank, world, remainder)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn every_sample_is_drawn_once_per_epoch_over_all_ranks() {
        for len in [0, 1, 2, 7, 100, 101] {
            for world in [1, 2, 3, 8] {
                assert_eq!(all_ranks(len, world, Remainder::Keep), (0..len).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn ranks_draw_equally_many_where_training_needs_it() {
        for (len, world) in [(7, 3), (2, 8), (100, 4), (1, 3)] {
            let counts = |remainder| -> Vec<_> {
                (0..world).map(|rank| order(len, 0, rank, world, remainder).len()).collect()
            };
            assert_eq!(counts(Remainder::Repeat), vec![len.div_ceil(world); world]);
            assert_eq!(counts(Remainder::Drop), vec![len / world; world]);
            let mut drawn = all_ranks(len, world, Remainder::Repeat);
            drawn.dedup();
            assert_eq!(drawn, (0..len).collect::<Vec<_>>(), "every sample is still drawn");
        }
    }

    #[test]
    fn the_order_depends_on_the_epoch_and_repeats() {
        let draw = |epoch| order(50, epoch, 0, 1, Remainder::Keep);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn without_shuffling_the_order_is_the_data_sets() {
        let sampler = Sampler {
            len: 5,
            seed: 1,
            shuffle: false,
            shard: Shard { rank: 1, world: 2 },
            remainder: Remainder::Keep,
        };
        let order = sampler.order(9);
        assert_eq!((order.count(), order.at(0), order.at(1)), (2, 1, 3));
    }
}
