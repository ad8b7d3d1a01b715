//! A mean over a pass, accumulated as a sum and a count.

use hookrack_plugin_api::prelude::*;

/// A mean over all batches of a pass. Sums are kept, never means, so that merging is an addition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mean {
    sum: f64,
    count: f64,
    last: Option<f64>,
}

fn share(sum: f64, count: f64) -> f64 {
    if count > 0.0 { sum / count } else { f64::NAN }
}

impl Mean {
    /// Adds a batch: the sum of its values, and their number.
    pub(super) fn add(&mut self, (sum, count): (f64, f64)) {
        self.sum += sum;
        self.count += count;
        self.last = Some(share(sum, count));
    }

    /// The mean of the pass; NaN without samples.
    pub(super) fn value(&self) -> f64 {
        share(self.sum, self.count)
    }

    /// The mean of the last batch.
    pub(super) fn last(&self) -> Option<f64> {
        self.last
    }

    pub(super) fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.sum += other.value::<f64>("sum")?;
        self.count += other.value::<f64>("count")?;
        Ok(())
    }

    pub(super) fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("sum", self.sum)?;
        state.put("count", self.count)
    }
}

/// The methods of a `Metric` whose value is a mean, in the field named, or a function of it: all but `update`.
macro_rules! mean_value {
    ($field:ident) => {
        mean_value!($field, std::convert::identity);
    };
    ($field:ident, $of:expr) => {
        fn compute(&self) -> f64 {
            $of(self.$field.value())
        }

        fn step_value(&self) -> Option<f64> {
            self.$field.last().map($of)
        }

        crate::metrics::gathered::gathered!($field);
    };
}

pub(super) use mean_value;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_weighs_batches_by_their_size_and_has_no_value_without_one() {
        let mut mean = Mean::default();
        assert!(mean.value().is_nan() && mean.last().is_none());
        mean.add((0.0, 0.0));
        assert!(mean.value().is_nan());
        mean.add((6.0, 3.0));
        mean.add((4.0, 1.0));
        assert_eq!((mean.value(), mean.last()), (2.5, Some(4.0)));
        mean.add((f64::NAN, 1.0));
        assert!(mean.value().is_nan());
    }
}
