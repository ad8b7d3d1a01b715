//! The order in which samples are drawn: a function of seed and epoch alone.

use super::permutation::Permutation;

/// Draws samples of a data set of `len`.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// Samples in the data set.
    pub len: usize,
    /// The run's seed.
    pub seed: u64,
    /// A new random order in each epoch; otherwise the data set's own.
    pub shuffle: bool,
}

impl Sampler {
    /// The order of an epoch. Positions are computed on demand.
    pub fn order(&self, epoch: u64) -> Order {
        let permutation = self.shuffle.then(|| Permutation::new(self.len, &[self.seed, epoch]));
        Order { permutation, len: self.len }
    }
}

/// The samples of an epoch, in order.
#[derive(Debug, Clone)]
pub struct Order {
    permutation: Option<Permutation>,
    len: usize,
}

impl Order {
    /// Number of samples.
    pub fn count(&self) -> usize {
        self.len
    }

    /// The sample at a position below `count`, in constant time.
    pub fn at(&self, place: usize) -> usize {
        self.permutation.as_ref().map_or(place, |permutation| permutation.at(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(len: usize, epoch: u64, shuffle: bool) -> Vec<usize> {
        let order = Sampler { len, seed: 42, shuffle }.order(epoch);
        (0..order.count()).map(|place| order.at(place)).collect()
    }

    #[test]
    fn every_sample_is_drawn_once_per_epoch() {
        for len in [0, 1, 2, 7, 100, 101] {
            let mut all = order(len, 3, true);
            all.sort_unstable();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_depends_on_the_epoch_and_repeats() {
        assert_eq!(order(50, 1, true), order(50, 1, true));
        assert_ne!(order(50, 1, true), order(50, 2, true));
    }

    #[test]
    fn without_shuffling_the_order_is_the_data_sets() {
        assert_eq!(order(5, 9, false), [0, 1, 2, 3, 4]);
    }
}
