//! A rank's share of a batch. What a batch holds depends on seed, epoch and position alone; how many ranks there are only decides
//! who computes which of its rows.

use std::ops::Range;

/// A process among those that train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Its number.
    pub rank: usize,
    /// How many there are.
    pub world: usize,
}

impl Rank {
    /// One process alone.
    pub const ONLY: Self = Self { rank: 0, world: 1 };

    /// Whether it takes batch `number` where ranks take batches in turn.
    pub fn takes(self, number: u64) -> bool {
        number % self.world.max(1) as u64 == self.rank as u64
    }
}

/// Which rows of a batch this process takes: its share of each micro-batch, so that a micro-batch over all ranks is that of one
/// process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// This process.
    pub rank: usize,
    /// How many processes share the rows.
    pub world: usize,
    /// Micro-batches of a batch.
    pub parts: usize,
}

impl Share {
    /// A single process that takes everything.
    pub const WHOLE: Self = Self { rank: 0, world: 1, parts: 1 };

    /// Whether a single process takes everything.
    pub fn is_whole(self) -> bool {
        self.world <= 1
    }

    /// The rows of a batch of `rows` that this process takes, micro-batch by micro-batch. Shares differ by at most one row; the
    /// first ranks have the larger ones.
    pub fn ranges(self, rows: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        let parts = self.parts.clamp(1, rows.max(1));
        (0..parts).map(move |part| {
            let part = piece(rows, parts, part);
            let own = piece(part.len(), self.world, self.rank);
            part.start + own.start..part.start + own.end
        })
    }

    /// How many rows of a batch of `rows` this process takes.
    pub fn rows(self, rows: usize) -> usize {
        self.ranges(rows).map(|range| range.len()).sum()
    }

    /// The smallest share that any process has of a micro-batch of a batch of `rows`.
    pub fn smallest(self, rows: usize) -> usize {
        let parts = self.parts.clamp(1, rows.max(1));
        piece(rows, parts, parts - 1).len() / self.world.max(1)
    }
}

/// Piece `index` of `count` nearly equal pieces of `rows`, the larger ones first.
fn piece(rows: usize, count: usize, index: usize) -> Range<usize> {
    let count = count.max(1);
    let (even, rest) = (rows / count, rows % count);
    let start = index * even + index.min(rest);
    start..start + even + usize::from(index < rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rank: usize, world: usize, parts: usize, rows: usize) -> Vec<usize> {
        Share { rank, world, parts }.ranges(rows).flatten().collect()
    }

    #[test]
    fn every_row_is_taken_once_over_all_ranks() {
        for (world, parts, count) in
            [(1, 1, 7), (2, 1, 7), (3, 2, 16), (4, 3, 64), (4, 1, 3), (2, 8, 5)]
        {
            let mut all: Vec<_> =
                (0..world).flat_map(|rank| rows(rank, world, parts, count)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>(), "{world} ranks, {parts} parts");
        }
    }

    #[test]
    fn a_rank_has_its_share_of_each_micro_batch() {
        assert_eq!(rows(0, 2, 2, 8), [0, 1, 4, 5]);
        assert_eq!(rows(1, 2, 2, 8), [2, 3, 6, 7]);
    }

    #[test]
    fn the_first_ranks_have_the_larger_shares() {
        let share = |rank| Share { rank, world: 3, parts: 1 }.rows(7);
        assert_eq!([share(0), share(1), share(2)], [3, 2, 2]);
        assert_eq!(Share { rank: 0, world: 3, parts: 1 }.smallest(7), 2);
        assert_eq!(Share { rank: 0, world: 4, parts: 1 }.smallest(3), 0);
    }
}
