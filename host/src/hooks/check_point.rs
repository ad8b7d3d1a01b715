//! `CheckPointHook`: says when a checkpoint is due; the loop has the slot for it, after validation.

use hookrack_plugin_api::prelude::*;

/// Asks for a checkpoint every so many epochs, or iterations, and at the end of training.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckPointHook {
    /// Epochs between two checkpoints; 0 for none by epoch.
    #[serde(default = "one")]
    epoch_period: u64,
    /// Iterations between two checkpoints; 0 for none by iteration.
    #[serde(default)]
    iter_period: u64,
}

fn one() -> u64 {
    1
}

fn is_due(count: u64, period: u64) -> bool {
    period > 0 && count.is_multiple_of(period)
}

#[hook(level = 42, on_error = "abort")]
impl Hook for CheckPointHook {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if is_due(t.iter(), self.iter_period) { t.request_checkpoint() } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let is_last = t.epoch() >= t.max_epochs() || t.iter() >= t.max_iters();
        if is_last || is_due(t.epoch(), self.epoch_period) {
            t.request_checkpoint()
        } else {
            Ok(())
        }
    }
}
