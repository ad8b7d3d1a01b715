//! `Loss`: the mean of the loss over all samples of a pass.

use super::gathered::gathered;
use super::mean::Mean;
use hookrack_plugin_api::prelude::*;

/// The mean of the loss over all samples of a pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Loss {
    #[serde(skip)]
    mean: Mean,
}

#[metric(better = "lower")]
impl Metric for Loss {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (loss, samples) = (t.loss()?.item()?, t.batch_size() as f64);
        self.mean.add(loss * samples, samples);
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
