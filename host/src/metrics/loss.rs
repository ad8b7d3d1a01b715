//! `Loss`: the mean of the loss over all samples of a pass.

use hookrack_plugin_api::prelude::*;

/// The mean of the loss over all samples of a pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Loss {
    #[serde(skip)]
    sum: f64,
    #[serde(skip)]
    samples: f64,
    #[serde(skip)]
    last: Option<f64>,
}

#[metric(better = "lower")]
impl Metric for Loss {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (loss, samples) = (t.loss()?.item()?, t.batch_size() as f64);
        self.sum += loss * samples;
        self.samples += samples;
        self.last = Some(loss);
        Ok(())
    }

    fn compute(&self) -> f64 {
        if self.samples > 0.0 { self.sum / self.samples } else { f64::NAN }
    }

    fn step_value(&self) -> Option<f64> {
        self.last
    }

    fn reset(&mut self) {
        (self.sum, self.samples, self.last) = (0.0, 0.0, None);
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.sum += other.value::<f64>("sum")?;
        self.samples += other.value::<f64>("samples")?;
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("sum", self.sum)?;
        state.put("samples", self.samples)
    }
}
