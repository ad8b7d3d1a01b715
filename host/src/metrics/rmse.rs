//! `Rmse`: the root of the mean of squared differences.

use super::mean::{Mean, mean_value};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// Root mean squared error.
#[derive(Settings)]
pub(super) struct Rmse {
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Rmse {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(paired(t, |batch| Ok(batch.total(|x, y| (x - y) * (x - y))))?);
        Ok(())
    }

    mean_value!(mean, f64::sqrt);
}
