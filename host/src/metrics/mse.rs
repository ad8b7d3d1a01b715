//! `Mse`: the mean of squared differences.

use super::mean::{Mean, mean_value};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// Mean squared error.
#[derive(Settings)]
pub(super) struct Mse {
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Mse {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(paired(t, |batch| Ok(batch.total(|x, y| (x - y) * (x - y))))?);
        Ok(())
    }

    mean_value!(mean);
}
