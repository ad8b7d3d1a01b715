//! `EvaluateHook`: says when validation is due; the loop has the slot for it.

use hookrack_plugin_api::prelude::*;

/// Asks for a validation every so many epochs, or iterations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluateHook {
    /// Epochs between two validations; 0 for none by epoch.
    #[serde(default = "one")]
    interval: u64,
    /// Iterations between two validations; 0 for none by iteration.
    #[serde(default)]
    eval_iter_period: u64,
}

fn one() -> u64 {
    1
}

/// Whether `count` is a multiple of a period that is not 0.
fn is_due(count: u64, period: u64) -> bool {
    period > 0 && count.is_multiple_of(period)
}

#[hook(level = 32, on_error = "abort")]
impl Hook for EvaluateHook {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if is_due(t.iter(), self.eval_iter_period) { t.request_validation() } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if is_due(t.epoch(), self.interval) { t.request_validation() } else { Ok(()) }
    }
}
