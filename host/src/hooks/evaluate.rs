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
    #[serde(default, alias = "eval_period")]
    eval_iter_period: u64,
    /// Whether there is any validation at all.
    #[serde(default = "yes")]
    is_run_eval: bool,
}

fn one() -> u64 {
    1
}
fn yes() -> bool {
    true
}

impl EvaluateHook {
    /// Asks where `count` is a multiple of a period that is not 0.
    fn ask(&self, t: &mut Trainer, count: u64, period: u64) -> Result<()> {
        let is_due = self.is_run_eval && period > 0 && count.is_multiple_of(period);
        if is_due { t.request_validation() } else { Ok(()) }
    }
}

#[hook(level = 32, aliases = "EvalHook", on_error = "abort")]
impl Hook for EvaluateHook {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.ask(t, t.iter(), self.eval_iter_period)
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.ask(t, t.epoch(), self.interval)
    }
}
