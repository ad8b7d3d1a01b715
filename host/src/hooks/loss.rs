//! `LossHook`: the loss of each training iteration, and its mean over each evaluation.

use hookrack_plugin_api::prelude::*;

/// Puts `train/loss` after every iteration, and `val/loss` or `test/loss` after a pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LossHook {
    /// Iterations between two readings of the training loss; each one waits for the device.
    #[serde(default = "one")]
    #[param(min = 1)]
    interval: u64,
    #[serde(skip)]
    key: Option<ScalarKey>,
    #[serde(skip)]
    sum: f64,
    #[serde(skip)]
    samples: f64,
}

fn one() -> u64 {
    1
}

#[hook(level = 12, reads = "loss", writes = "events")]
impl Hook for LossHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/loss", true)?);
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let due = t.iter().is_multiple_of(self.interval);
        match self.key {
            Some(key) if due => t.put(key, t.loss()?.item()?),
            _ => Ok(()),
        }
    }

    fn before_eval_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        (self.sum, self.samples) = (0.0, 0.0);
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let samples = t.batch_size() as f64;
        self.sum += t.loss()?.item()? * samples;
        self.samples += samples;
        Ok(())
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let key = t.scalar_key("loss", false)?;
        t.put(key, self.sum / self.samples)
    }
}
