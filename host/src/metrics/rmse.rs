//! `Rmse`: the root of the mean of squared differences.

use super::gathered::gathered;
use super::mean::Mean;
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
        let (sum, count) = paired(t, |batch| {
            let sum = batch.iter().map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
            Ok((sum, batch.count()))
        })?;
        self.mean.add(sum, count);
        Ok(())
    }

    fn compute(&self) -> f64 {
        self.mean.value().sqrt()
    }

    fn step_value(&self) -> Option<f64> {
        self.mean.last().map(f64::sqrt)
    }

    gathered!(mean);
}
