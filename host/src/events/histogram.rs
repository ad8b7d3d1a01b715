//! Histograms.

/// A histogram of numbers with their summary statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many.
    pub count: f64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
    /// The upper end of each range, in ascending order.
    pub limits: Vec<f64>,
    /// How many fall into each.
    pub counts: Vec<f64>,
}

impl Histogram {
    /// The upper ends of `bins` ranges of equal width from `min` to `max`; one range if they are equal.
    pub fn limits(min: f64, max: f64, bins: usize) -> Vec<f64> {
        let bins = u32::try_from(if min < max { bins.max(1) } else { 1 }).unwrap_or(u32::MAX);
        let width = (max - min) / f64::from(bins);
        let inner = (1..bins).map(|bin| width.mul_add(f64::from(bin), min));
        // The last one is exactly `max`, without rounding errors.
        inner.chain([max]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_rise_to_the_largest_number() {
        assert_eq!(Histogram::limits(-1.0, 1.0, 4), [-0.5, 0.0, 0.5, 1.0]);
        assert_eq!(Histogram::limits(0.1, 0.7, 3).last(), Some(&0.7));
        assert_eq!(Histogram::limits(2.0, 2.0, 30), [2.0]);
        assert_eq!(Histogram::limits(0.0, 1.0, 0), [1.0]);
    }
}
