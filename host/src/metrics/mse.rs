//! `Mse`: the mean of squared differences.

use super::gathered::gathered;
use super::mean::Mean;
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
        let (sum, count) = paired(t, |batch| {
            let sum = batch.iter().map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
            Ok((sum, batch.count()))
        })?;
        self.mean.add(sum, count);
        Ok(())
    }

    fn compute(&self) -> f64 {
        self.mean.value()
    }

    fn step_value(&self) -> Option<f64> {
        self.mean.last()
    }

    gathered!(mean);
}
