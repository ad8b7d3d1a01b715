//! `Loss`: the loss of all samples of a pass.

use super::mean::{Mean, mean_value};
use hookrack_plugin_api::prelude::*;

/// Loss over all samples of a pass, independent of the batch size; ignored labels and class weights count as in the
/// loss itself.
#[derive(Settings)]
pub(super) struct Loss {
    #[param(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Loss {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let weight = t.loss_weight()?;
        // A batch in which no label counts has no loss.
        let sum = if weight > 0.0 { t.loss()?.item()? * weight } else { 0.0 };
        self.mean.add((sum, weight));
        Ok(())
    }

    mean_value!(mean);
}
