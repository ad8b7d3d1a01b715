//! A permutation of `0..len` that needs no memory: the sample at any position is computed from the position.

use super::prng::{Prng, mixed};

/// Enough rounds that positions are indistinguishable from random ones; see the tests.
const ROUNDS: usize = 8;

/// A Feistel network over the cells of a square that has room for all samples. Positions whose cell is beyond the last
/// sample are mapped again until they reach one that is not.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    len: u64,
    side: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation for these seeds.
    pub(super) fn new(len: usize, seeds: &[u64]) -> Self {
        let len = len as u64;
        let root = len.isqrt();
        let side = if root * root < len { root + 1 } else { root };
        let mut prng = Prng::new(seeds);
        Self { len, side: side.max(1), keys: std::array::from_fn(|_| prng.next_u64()) }
    }

    /// The sample at a position; both are below `len`.
    #[expect(clippy::cast_possible_truncation, reason = "below `len`, which came as a usize")]
    pub(super) fn at(&self, place: usize) -> usize {
        let mut cell = place as u64;
        loop {
            cell = self.step(cell);
            if cell < self.len || self.len == 0 {
                return cell as usize;
            }
        }
    }

    fn step(&self, cell: u64) -> u64 {
        let (mut left, mut right) = (cell / self.side, cell % self.side);
        for key in self.keys {
            let moved = left + self.below_side(mixed(right.wrapping_add(key)));
            (left, right) = (right, if moved >= self.side { moved - self.side } else { moved });
        }
        left * self.side + right
    }

    fn below_side(&self, bits: u64) -> u64 {
        ((u128::from(bits) * u128::from(self.side)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(len: usize, seed: u64) -> Vec<usize> {
        let permutation = Permutation::new(len, &[seed]);
        (0..len).map(|place| permutation.at(place)).collect()
    }

    #[test]
    fn every_sample_comes_once() {
        for len in [0, 1, 2, 3, 4, 5, 10, 63, 64, 65, 1000, 60_000] {
            let mut all = order(len, 3);
            all.sort_unstable();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_sample_is_as_likely_at_each_place() {
        for len in [3_usize, 7, 10, 16] {
            let rounds = 4000 * len as u64;
            let mut counts = vec![0_u32; len * len];
            for seed in 0..rounds {
                for (place, sample) in order(len, seed).into_iter().enumerate() {
                    counts[place * len + sample] += 1;
                }
            }
            // 4,000 of each are expected, with a deviation of 63.
            assert!(counts.iter().all(|count| (3650..4350).contains(count)), "{len}: {counts:?}");
        }
    }

    #[test]
    fn neighbors_do_not_stay_together() {
        let order = order(60_000, 1);
        let close = order.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1000).count();
        // In a random order 3.3 % of neighbors are that close: 1,983 of them, with a deviation of 44.
        assert!((1750..2220).contains(&close), "{close}");
        let fixed = order.iter().enumerate().filter(|(place, sample)| place == *sample).count();
        assert!(fixed < 8, "{fixed} samples stayed in place, 1 is expected");
    }
}
