//! How the parameters of a group are divided among ranks, each of which keeps the optimizer state of its share.

use std::ops::Range;

use crate::data::Rank;

/// A rank's share of the parameters that are stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partition {
    /// The rank whose share this is.
    pub rank: Rank,
    /// Whether a tensor stays on one rank: for a step that needs all of it, such as LAMB's norms.
    pub by_tensor: bool,
}

/// Tensors are cut at multiples of this length, which every vector width divides. A kernel then treats each element as it
/// does in the whole tensor, in a vector or in the scalar tail, and the step has the same bits.
const UNIT: usize = 64;

/// A tensor to divide.
#[derive(Debug, Clone, Copy)]
pub(super) struct TensorSize {
    /// Elements.
    pub size: usize,
    /// Whether a flat range of it is contiguous in memory.
    pub is_flat: bool,
}

impl Partition {
    /// A single process that keeps everything.
    pub(super) const WHOLE: Self = Self { rank: Rank::ONLY, by_tensor: false };

    /// The share of `rank` in each tensor; `None` if it has none. An empty tensor belongs to the first rank.
    pub(super) fn shares(self, tensors: &[TensorSize], rank: usize) -> Vec<Option<Range<usize>>> {
        if self.by_tensor {
            return by_tensor(tensors, self.rank.world, rank);
        }
        let total: usize = tensors.iter().map(|tensor| tensor.size).sum();
        let bound = |rank: usize| scaled(total, rank, self.rank.world);
        let (from, to) = (bound(rank), bound(rank + 1));
        let mut offset = 0;
        let share = |tensor: &TensorSize| {
            let range = tensor.at(from, offset)..tensor.at(to, offset);
            offset += tensor.size;
            let is_own = !range.is_empty() || (tensor.size == 0 && rank == 0);
            is_own.then_some(range)
        };
        tensors.iter().map(share).collect()
    }
}

impl TensorSize {
    /// The index in this tensor, which begins at `offset`, of a cut at `bound` of all elements.
    fn at(self, bound: usize, offset: usize) -> usize {
        let unit = if self.is_flat { UNIT } else { self.size.max(1) };
        bound.saturating_sub(offset).next_multiple_of(unit).min(self.size)
    }
}

/// `total * rank / world` without overflow.
fn scaled(total: usize, rank: usize, world: usize) -> usize {
    let product = total as u128 * rank as u128 / world.max(1) as u128;
    usize::try_from(product).unwrap_or(usize::MAX)
}

/// The largest tensor first, each to the rank with the fewest elements so far.
fn by_tensor(tensors: &[TensorSize], world: usize, rank: usize) -> Vec<Option<Range<usize>>> {
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(tensors[index].size));
    let mut loads = vec![0; world.max(1)];
    let mut shares = vec![None; tensors.len()];
    for index in order {
        let size = tensors[index].size;
        let least = (0..loads.len()).min_by_key(|&rank| loads[rank]).unwrap_or(0);
        loads[least] += size;
        if least == rank {
            shares[index] = Some(0..size);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(world: usize, by_tensor: bool) -> Partition {
        Partition { rank: Rank { rank: 0, world }, by_tensor }
    }

    fn flat(sizes: &[usize]) -> Vec<TensorSize> {
        sizes.iter().map(|&size| TensorSize { size, is_flat: true }).collect()
    }

    /// Every element has one owner, whatever the sizes and the number of ranks, and ranks differ by less than a unit.
    #[test]
    fn shares_cover_every_tensor_once_and_are_even() {
        let sizes = [[0, 1, 63, 64, 65], [1000, 3, 1, 1, 4096], [7, 7, 7, 7, 7]];
        for tensors in sizes.map(|sizes| flat(&sizes)) {
            let total: usize = tensors.iter().map(|tensor| tensor.size).sum();
            for world in 1..=9 {
                let shares: Vec<_> =
                    (0..world).map(|rank| cut(world, false).shares(&tensors, rank)).collect();
                for (index, tensor) in tensors.iter().enumerate() {
                    let owned: Vec<_> =
                        shares.iter().filter_map(|share| share[index].clone()).collect();
                    assert_eq!(owned.first().unwrap().start, 0);
                    assert_eq!(owned.last().unwrap().end, tensor.size);
                    assert!(owned.windows(2).all(|pair| pair[0].end == pair[1].start));
                    assert!(owned.iter().skip(1).all(|range| range.start % UNIT == 0));
                }
                let most = shares.iter().map(|share| length(share)).max().unwrap();
                assert!(most < total / world + 1 + UNIT, "{world} ranks: {most} of {total}");
            }
        }
    }

    fn length(shares: &[Option<Range<usize>>]) -> usize {
        shares.iter().flatten().map(ExactSizeIterator::len).sum()
    }

    #[test]
    fn a_tensor_that_cannot_be_cut_stays_on_one_rank() {
        let mut tensors = flat(&[100, 1000, 100]);
        tensors[1].is_flat = false;
        let share = |rank| cut(2, false).shares(&tensors, rank);
        assert_eq!(share(0), [Some(0..100), Some(0..1000), None]);
        assert_eq!(share(1), [None, None, Some(0..100)]);
    }

    #[test]
    fn whole_tensors_go_to_the_rank_with_the_least() {
        let tensors = flat(&[10, 500, 300, 200, 0]);
        let share = |rank| cut(2, true).shares(&tensors, rank);
        assert_eq!(share(0), [Some(0..10), Some(0..500), None, None, None]);
        assert_eq!(share(1), [None, None, Some(0..300), Some(0..200), Some(0..0)]);
    }
}
