//! `Mae`: the mean of absolute differences.

use super::mean::{Mean, mean_value};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// Mean absolute error.
#[derive(Settings)]
pub(super) struct Mae {
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Mae {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(paired(t, |batch| Ok(batch.total(|x, y| (x - y).abs())))?);
        Ok(())
    }

    mean_value!(mean);
}
