//! `LossHook`: the loss of each training iteration, and its mean over each evaluation.

use hookrack_plugin_api::prelude::*;

/// Logs `train/loss` after every iteration, its mean over the epoch as `train/loss_epoch`, and `val/loss` or
/// `test/loss` after a pass: the loss over all samples, independent of the batch size.
#[derive(Settings)]
pub(super) struct LossHook {
    /// Iterations between readings of the training loss; each one synchronizes with the device.
    #[param(default = 1, min = 1)]
    interval: u64,
    #[param(skip)]
    key: Option<ScalarKey>,
    #[param(skip)]
    train: Mean,
    // The loss of each batch of an evaluation times its weight, and the weight: ranks take batches in turn, and their sum must be
    // that of one process to the last bit.
    #[param(skip)]
    eval: Vec<f64>,
    #[param(skip)]
    has_warned: bool,
}

/// A mean over samples, or over the weights of their labels.
#[derive(Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    /// Adds the loss of a batch. A batch in which no label counts has none.
    fn add(&mut self, loss: f64, weight: f64) {
        if weight > 0.0 {
            self.sum += loss * weight;
            self.weight += weight;
        }
    }
}

impl LossHook {
    /// Warns once when the loss becomes NaN or infinite, and once when it is finite again.
    fn warn_not_finite(&mut self, loss: f64, t: &Trainer) {
        if loss.is_finite() == self.has_warned {
            let (iter, epoch) = (t.iter(), t.epoch());
            if self.has_warned {
                warn!("the training loss is finite again in iteration {iter} of epoch {epoch}");
            } else {
                warn!(
                    "the training loss is {loss} in iteration {iter} of epoch {epoch}: lower the learning rate or clip \
                     gradients; NaNGuard stops a run here, before the weights are updated"
                );
            }
            self.has_warned = !self.has_warned;
        }
    }
}

#[hook(
    level = 12,
    reads = "loss",
    writes = "events, train/loss, train/loss_epoch, val/loss, test/loss"
)]
impl Hook for LossHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/loss", true)?);
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let due = t.iter().is_multiple_of(self.interval);
        let Some(key) = self.key.filter(|_| due) else { return Ok(()) };
        let weight = t.loss_weight()?;
        if weight > 0.0 {
            let loss = t.loss()?.item()?;
            self.train.add(loss, weight);
            self.warn_not_finite(loss, t);
            t.put(key, loss)?;
        }
        Ok(())
    }

    fn before_train_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.train = Mean::default();
        Ok(())
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if self.train.weight > 0.0 {
            let key = t.scalar_key("train/loss_epoch", false)?;
            t.put(key, self.train.sum / self.train.weight)?;
        }
        Ok(())
    }

    fn before_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.eval.clear();
        self.eval.resize(2 * usize::try_from(t.inner_len())?, 0.0);
        Ok(())
    }

    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let weight = t.loss_weight()?;
        let batch = usize::try_from(t.inner_iter().saturating_sub(1))?;
        let (batches, _) = self.eval.as_chunks_mut::<2>();
        if let Some(batch) = batches.get_mut(batch).filter(|_| weight > 0.0) {
            *batch = [t.loss()?.item()? * weight, weight];
        }
        Ok(())
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        // Batches of other ranks are 0 here.
        t.all_reduce_numbers(&mut self.eval, Reduction::Sum)?;
        let (batches, _) = self.eval.as_chunks::<2>();
        let sum: f64 = batches.iter().map(|[sum, _]| sum).sum();
        let weight: f64 = batches.iter().map(|[_, weight]| weight).sum();
        let key = t.scalar_key("loss", false)?;
        t.put(key, sum / weight)
    }

    // A checkpoint may be saved in the middle of an epoch, but never within an evaluation.
    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("sum", self.train.sum)?;
        state.put("samples", self.train.weight)
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.train = Mean { sum: state.value("sum")?, weight: state.value("samples")? };
        Ok(())
    }
}
