//! One scalar over time: its last values, and the mean of all.

use super::{SavedSeries, WINDOW};
use std::rc::Rc;

/// How many values a series keeps for medians and means.
const KEPT: usize = 1024;

/// One value, on both axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The training iteration in which it was logged.
    pub iter: u64,
    /// Training samples consumed so far.
    pub samples: u64,
    /// The value.
    pub value: f64,
}

/// One scalar over time.
pub struct Series {
    name: Rc<str>,
    smooth: bool,
    // A ring: `next` is where the next value goes once it is full.
    values: Vec<Sample>,
    next: usize,
    count: u64,
    // Over the values that are not NaN, for the mean of all.
    sum: f64,
    numbers: u64,
    // Whether it has a value that no writer has seen.
    pub(super) pending: bool,
}

impl Series {
    pub(super) fn new(name: Rc<str>, smooth: bool) -> Self {
        let (values, next, count, sum, numbers) = (Vec::new(), 0, 0, 0.0, 0);
        Self { name, smooth, values, next, count, sum, numbers, pending: false }
    }

    pub(super) fn put(&mut self, sample: Sample) {
        if self.values.len() < KEPT {
            // Allocated at once, so that logging later values does not allocate.
            self.values.reserve_exact(KEPT - self.values.len());
            self.values.push(sample);
        } else {
            self.values[self.next] = sample;
        }
        self.next = (self.next + 1) % KEPT;
        (self.count, self.pending) = (self.count + 1, true);
        if !sample.value.is_nan() {
            (self.sum, self.numbers) = (self.sum + sample.value, self.numbers + 1);
        }
    }

    pub(super) fn save(&self) -> SavedSeries {
        let mut values: Vec<Sample> = self.recent(KEPT).collect();
        values.reverse();
        let (name, smooth, pending) = (self.name.to_string(), self.smooth, self.pending);
        let (count, numbers, sum) = (self.count, self.numbers, Some(self.sum));
        SavedSeries { name, smooth, count, numbers, sum, pending, values }
    }

    pub(super) fn restore(&mut self, saved: &SavedSeries) {
        self.values.clear();
        self.next = 0;
        saved.values.iter().for_each(|sample| self.put(*sample));
        (self.count, self.numbers, self.pending) = (saved.count, saved.numbers, saved.pending);
        self.sum = saved.sum.unwrap_or(0.0);
    }

    pub(super) fn mark_written(&mut self) {
        self.pending = false;
    }

    /// Its full name.
    pub fn name(&self) -> &Rc<str> {
        &self.name
    }

    /// Whether the console and the report show a median of it.
    pub fn is_smooth(&self) -> bool {
        self.smooth
    }

    /// The iteration of the last value.
    pub fn step(&self) -> u64 {
        self.recent(1).next().map_or(0, |sample| sample.iter)
    }

    /// How many values were logged.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last value.
    pub fn latest(&self) -> Option<f64> {
        self.recent(1).next().map(|sample| sample.value)
    }

    /// The last `window` values, newest first.
    pub fn recent(&self, window: usize) -> impl Iterator<Item = Sample> {
        let len = self.values.len();
        (1..=window.min(len)).map(move |back| self.values[(self.next + KEPT - back) % KEPT])
    }

    fn numbers(&self, window: usize) -> impl Iterator<Item = f64> {
        self.recent(window).map(|sample| sample.value).filter(|value| !value.is_nan())
    }

    /// The median of the last `window` values; NaN values do not count.
    pub fn median(&self, window: usize) -> Option<f64> {
        let mut values: Vec<f64> = self.numbers(window).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() {
            0 => None,
            n if n % 2 == 1 => Some(values[middle]),
            _ => Some(f64::midpoint(values[middle - 1], values[middle])),
        }
    }

    /// The mean of the last `window` values; NaN values do not count.
    pub fn mean(&self, window: usize) -> Option<f64> {
        let (sum, count) =
            self.numbers(window).fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
        mean(sum, count)
    }

    /// The mean of all values ever logged; NaN values do not count.
    pub fn global_mean(&self) -> Option<f64> {
        mean(self.sum, self.numbers)
    }

    /// The displayed value: a median if it is smoothed and any of its last values is a number, else the
    /// last.
    pub fn shown(&self) -> Option<f64> {
        let median = if self.smooth { self.median(WINDOW) } else { None };
        median.or_else(|| self.latest())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has far fewer iterations than 2^53")]
fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl IntoIterator<Item = f64>) -> Series {
        let mut series = Series::new("train/loss".into(), true);
        for (index, value) in values.into_iter().enumerate() {
            let iter = index as u64 + 1;
            series.put(Sample { iter, samples: iter * 8, value });
        }
        series
    }

    #[test]
    fn the_last_values_are_kept_and_no_more() {
        let series = series((1..=3000).map(f64::from));
        assert_eq!(series.latest(), Some(3000.0));
        let last: Vec<_> = series.recent(3).map(|s| (s.iter, s.samples)).collect();
        assert_eq!(last, [(3000, 24000), (2999, 23992), (2998, 23984)]);
        assert_eq!((series.median(4), series.mean(4)), (Some(2998.5), Some(2998.5)));
        assert_eq!(series.recent(usize::MAX).count(), KEPT);
        assert_eq!(series.values.capacity(), KEPT);
        assert_eq!((series.count(), series.step()), (3000, 3000));
    }

    #[test]
    fn the_global_mean_is_of_all_values_also_those_that_are_gone() {
        let series = series((1..=3000).map(f64::from));
        assert!((series.global_mean().unwrap() - 1500.5).abs() < 1e-9);
    }

    #[test]
    fn a_nan_spoils_neither_median_nor_mean_but_is_the_latest() {
        let series = series([1.0, f64::NAN, 2.0, 6.0, f64::NAN]);
        assert_eq!((series.median(20), series.mean(20)), (Some(2.0), Some(3.0)));
        assert_eq!((series.mean(2), series.global_mean()), (Some(6.0), Some(3.0)));
        assert!(series.latest().unwrap().is_nan());
    }

    #[test]
    fn without_finite_values_there_is_no_mean_and_nan_is_shown() {
        let none = series([]);
        assert_eq!((none.latest(), none.median(3), none.mean(3)), (None, None, None));
        assert_eq!((none.global_mean(), none.shown(), none.step()), (None, None, 0));
        let nan = series([f64::NAN]);
        assert_eq!((nan.median(3), nan.global_mean()), (None, None));
        assert!(nan.shown().unwrap().is_nan());
    }
}
