//! `RecallAt1`, `RecallAt5` and `RecallAt10`: `RecallAtK` with its k in the name, as iMIX has them.

use super::mean::{Mean, mean_value};
use super::numbers::{IGNORED, classified};
use super::rank::over_ranks;
use hookrack_plugin_api::prelude::*;

/// A metric type for one k.
///
/// A macro, because a metric's manifest is derived from its struct and `impl` block.
macro_rules! recall_at {
    ($name:ident, $k:literal, $doc:literal, $aliases:literal) => {
        #[doc = $doc]
        #[derive(Settings)]
        pub(super) struct $name {
            /// Label to ignore; by default that of the loss.
            #[param(default = IGNORED)]
            ignore_index: i64,
            #[param(skip)]
            mean: Mean,
        }

        #[metric(better = "higher", aliases = $aliases)]
        impl Metric for $name {
            fn update(&mut self, t: &mut Trainer) -> Result<()> {
                let is_hit = |rank: f64| f64::from(u8::from(rank <= $k));
                self.mean.add(classified(t, self.ignore_index, |batch| over_ranks(batch, is_hit))?);
                Ok(())
            }

            mean_value!(mean);
        }
    };
}

recall_at!(RecallAt1, 1.0, "Fraction of samples whose true class has the largest output.", "");
recall_at!(
    RecallAt5,
    5.0,
    "Fraction of samples whose true class is among the 5 largest outputs.",
    "Top5Accuracy"
);
recall_at!(
    RecallAt10,
    10.0,
    "Fraction of samples whose true class is among the 10 largest outputs.",
    ""
);
