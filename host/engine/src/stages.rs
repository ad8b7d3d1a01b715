//! Divides the units of a model into the stages of a pipeline.

use std::ops::Range;

/// Divides units of known cost into consecutive, non-empty parts, so that the most expensive part is as cheap as
/// possible. `None` if there are more parts than units.
pub fn balanced(costs: &[f64], parts: usize) -> Option<Vec<Range<usize>>> {
    if parts == 0 || parts > costs.len() {
        return None;
    }
    let mut sums = vec![0.0];
    sums.extend(costs.iter().scan(0.0, |sum, cost| {
        *sum += cost;
        Some(*sum)
    }));
    let cost = |range: Range<usize>| sums[range.end] - sums[range.start];
    // For each number of parts and of units: the cost of the most expensive part, and where the last one begins.
    let mut best = vec![(0..=costs.len()).map(|end| (cost(0..end), 0)).collect::<Vec<_>>()];
    for part in 1..parts {
        let before = &best[part - 1];
        let row = (0..=costs.len()).map(|end| {
            let starts = (part..end).map(|start| (before[start].0.max(cost(start..end)), start));
            starts.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, end))
        });
        let row = row.collect();
        best.push(row);
    }
    let mut end = costs.len();
    let mut ranges: Vec<_> = (0..parts)
        .rev()
        .map(|part| {
            let start = best[part][end].1;
            let range = start..end;
            end = start;
            range
        })
        .collect();
    ranges.reverse();
    Some(ranges)
}

/// Consecutive parts of these sizes. `None` if one is empty, or they do not add up to `whole`.
pub fn listed(sizes: &[usize], whole: usize) -> Option<Vec<Range<usize>>> {
    let mut start = 0;
    let ranges = sizes.iter().map(|size| {
        let range = start..start + size;
        start = range.end;
        range
    });
    let ranges: Vec<_> = ranges.collect();
    (start == whole && sizes.iter().all(|size| *size > 0)).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Prng;

    #[test]
    fn the_cost_of_the_most_expensive_part_is_minimal() {
        assert_eq!(balanced(&[1.0, 1.0, 1.0, 1.0], 2).unwrap(), [0..2, 2..4]);
        assert_eq!(balanced(&[9.0, 1.0, 1.0, 1.0], 2).unwrap(), [0..1, 1..4]);
        assert_eq!(balanced(&[1.0, 0.0, 0.0], 3).unwrap(), [0..1, 1..2, 2..3]);
        assert_eq!(balanced(&[0.0; 3], 1).unwrap(), vec![0..3; 1]);
        assert!(balanced(&[1.0; 3], 4).is_none());
        assert!(balanced(&[1.0; 3], 0).is_none());
    }

    /// All ways to divide a few units, for comparison.
    fn cheapest(costs: &[f64], parts: usize) -> f64 {
        if parts == 1 {
            return costs.iter().sum();
        }
        let first = |end: usize| costs[..end].iter().sum::<f64>();
        let ways = (1..=costs.len() - parts + 1)
            .map(|end| first(end).max(cheapest(&costs[end..], parts - 1)));
        ways.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn no_other_division_of_random_costs_is_better() {
        for seed in 0..200 {
            let mut random = Prng::new(&[seed]);
            let count = 1 + usize::try_from(random.next_u64() % 9).unwrap();
            let parts = 1 + usize::try_from(random.next_u64()).unwrap_or(0) % count;
            let cost = |random: &mut Prng| f64::from(u8::try_from(random.next_u64() % 50).unwrap());
            let costs: Vec<_> = (0..count).map(|_| cost(&mut random)).collect();
            let ranges = balanced(&costs, parts).unwrap();
            let sum = |range: &Range<usize>| costs[range.clone()].iter().sum::<f64>();
            let found = ranges.iter().map(sum).fold(0.0, f64::max);
            assert!((found - cheapest(&costs, parts)).abs() < 1e-9, "{costs:?} {parts}");
            let sizes: Vec<_> = ranges.iter().map(ExactSizeIterator::len).collect();
            assert_eq!(listed(&sizes, count).unwrap(), ranges, "they cover everything in order");
        }
    }

    #[test]
    fn a_list_must_cover_every_unit() {
        assert_eq!(listed(&[2, 1], 3).unwrap(), [0..2, 2..3]);
        assert!(listed(&[2, 2], 3).is_none());
        assert!(listed(&[3, 0], 3).is_none());
    }
}
