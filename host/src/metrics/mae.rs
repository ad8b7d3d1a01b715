//! `Mae`: the mean of absolute differences.

use super::gathered::gathered;
use super::mean::Mean;
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
        let (sum, count) = paired(t, |batch| {
            let sum = batch.iter().map(|(x, y)| (x - y).abs()).sum::<f64>();
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
