//! One scalar over time: its last values.

use std::rc::Rc;

/// How many values a series keeps for medians and means.
const KEPT: usize = 1024;

/// One scalar over time.
pub struct Series {
    name: Rc<str>,
    smooth: bool,
    // A ring: `next` is where the next value goes once it is full.
    values: Vec<f64>,
    next: usize,
    step: u64,
    count: u64,
    pending: bool,
}

impl Series {
    pub(super) fn new(name: Rc<str>, smooth: bool) -> Self {
        Self { name, smooth, values: Vec::new(), next: 0, step: 0, count: 0, pending: false }
    }

    pub(super) fn put(&mut self, step: u64, value: f64) {
        if self.values.len() < KEPT {
            // All of it at once: later values allocate nothing.
            self.values.reserve_exact(KEPT - self.values.len());
            self.values.push(value);
        } else {
            self.values[self.next] = value;
        }
        self.next = (self.next + 1) % KEPT;
        (self.step, self.count, self.pending) = (step, self.count + 1, true);
    }

    pub(super) fn mark_written(&mut self) {
        self.pending = false;
    }

    /// Its full name.
    pub fn name(&self) -> &Rc<str> {
        &self.name
    }

    /// Whether writers show a median of it.
    pub fn is_smooth(&self) -> bool {
        self.smooth
    }

    /// Whether it has a value that no writer has seen.
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// The iteration of the last value.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// How many values were put.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last value.
    pub fn latest(&self) -> Option<f64> {
        let last = self.next.checked_sub(1).unwrap_or(KEPT - 1);
        self.values.get(last).copied()
    }

    /// The last `window` values, newest first.
    pub fn recent(&self, window: usize) -> impl Iterator<Item = f64> {
        let len = self.values.len();
        (1..=window.min(len)).map(move |back| self.values[(self.next + KEPT - back) % KEPT])
    }

    /// The median of the last `window` values; NaN values do not count.
    pub fn median(&self, window: usize) -> Option<f64> {
        let mut values: Vec<f64> = self.recent(window).filter(|value| !value.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() {
            0 => None,
            n if n % 2 == 1 => Some(values[middle]),
            _ => Some(f64::midpoint(values[middle - 1], values[middle])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_values_are_kept_and_no_more() {
        let mut series = Series::new("train/loss".into(), true);
        assert_eq!((series.latest(), series.median(3)), (None, None));
        for step in 1..=3000u32 {
            series.put(step.into(), step.into());
        }
        assert_eq!(series.latest(), Some(3000.0));
        assert_eq!(series.recent(3).collect::<Vec<_>>(), [3000.0, 2999.0, 2998.0]);
        assert_eq!(series.median(4), Some(2998.5));
        assert_eq!(series.recent(usize::MAX).count(), KEPT);
        assert_eq!(series.count(), 3000);
    }

    #[test]
    fn a_nan_does_not_spoil_a_median() {
        let mut series = Series::new("x".into(), true);
        for (step, value) in [(1, 1.0), (2, f64::NAN), (3, 3.0)] {
            series.put(step, value);
        }
        assert_eq!(series.median(20), Some(2.0));
    }
}
