//! `LossHook`: the loss of each training iteration, and its mean over each evaluation.

use hookrack_plugin_api::prelude::*;

/// Puts `train/loss` after every iteration, its mean over the epoch as `train/loss_epoch`, and `val/loss` or `test/loss`
/// after a pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LossHook {
    /// Iterations between two readings of the training loss; each one waits for the device.
    #[param(default = 1, min = 1)]
    interval: u64,
    #[serde(skip)]
    key: Option<ScalarKey>,
    #[serde(skip)]
    train: Mean,
    #[serde(skip)]
    eval: Mean,
}

/// A mean over samples.
#[derive(Default)]
struct Mean {
    sum: f64,
    samples: f64,
}

impl Mean {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn add(&mut self, value: f64, samples: u64) {
        self.sum += value * samples as f64;
        self.samples += samples as f64;
    }
}

#[hook(level = 12, reads = "loss", writes = "events")]
impl Hook for LossHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/loss", true)?);
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let due = t.iter().is_multiple_of(self.interval);
        let Some(key) = self.key.filter(|_| due) else { return Ok(()) };
        let loss = t.loss()?.item()?;
        self.train.add(loss, t.batch_size());
        t.put(key, loss)
    }

    fn before_train_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.train = Mean::default();
        Ok(())
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if self.train.samples > 0.0 {
            let key = t.scalar_key("train/loss_epoch", false)?;
            t.put(key, self.train.sum / self.train.samples)?;
        }
        Ok(())
    }

    fn before_eval_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.eval = Mean::default();
        Ok(())
    }

    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.eval.add(t.loss()?.item()?, t.batch_size());
        Ok(())
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let key = t.scalar_key("loss", false)?;
        t.put(key, self.eval.sum / self.eval.samples)
    }

    // A checkpoint may be taken in the middle of an epoch; there is none within an evaluation.
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("sum", self.train.sum)?;
        state.put("samples", self.train.samples)
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.train = Mean { sum: state.value("sum")?, samples: state.value("samples")? };
        Ok(())
    }
}
