//! Saves and restores the scalars of a run: medians and means continue after a resume.

use super::{EventStorage, Sample, Series};
use crate::exact;
use serde::{Deserialize, Serialize};

/// A series as saved in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedSeries {
    /// Its full name.
    pub name: String,
    /// Whether the console and the report show a median of it.
    pub smooth: bool,
    /// The number of values logged.
    pub count: u64,
    /// The number of those that are not NaN.
    pub numbers: u64,
    /// The sum of those.
    #[serde(with = "exact")]
    pub sum: Option<f64>,
    /// Whether it has a value that no writer has seen.
    pub pending: bool,
    /// The values that it keeps, oldest first. A checkpoint has them among its tensors.
    #[serde(skip)]
    pub values: Vec<Sample>,
}

impl EventStorage {
    /// Every series, in order.
    pub fn save(&self) -> Vec<SavedSeries> {
        self.all().map(Series::save).collect()
    }

    /// Restores every series under its name. Names not used yet keep their order.
    pub fn restore(&mut self, saved: &[SavedSeries]) {
        for series in saved {
            let key = self.key(&series.name, series.smooth);
            if let Some(place) = self.series.get_mut(key.0 as usize) {
                place.restore(series);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means_continue_where_they_were() {
        let mut events = EventStorage::default();
        let (loss, lr) = (events.key("train/loss", true), events.key("train/lr", false));
        let sample =
            |iter: u32, value| Sample { iter: iter.into(), samples: u64::from(iter) * 8, value };
        for iter in 1..=1500_u32 {
            events.put(loss, sample(iter, f64::from(iter)));
        }
        events.put(lr, sample(1500, 0.1));
        events.mark_written();
        events.put(loss, sample(1501, f64::NAN));

        let mut again = EventStorage::default();
        again.key("train/loss", true);
        again.restore(&events.save());
        assert_eq!(again.save().len(), 2);
        for storage in [&mut events, &mut again] {
            storage.put(loss, sample(1502, -1.0));
        }
        let (one, two) = (events.series(loss).unwrap(), again.series(loss).unwrap());
        let bits = |series: &Series| {
            series
                .recent(usize::MAX)
                .map(|s| (s.iter, s.samples, s.value.to_bits()))
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(one), bits(two));
        assert_eq!(
            (one.median(20), one.count(), one.step()),
            (two.median(20), two.count(), two.step())
        );
        assert_eq!(one.save().sum, two.save().sum);
        let pending: Vec<_> = again.pending().map(|series| series.name().to_string()).collect();
        assert_eq!(pending, ["train/loss"]);
    }
}
