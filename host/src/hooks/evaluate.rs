//! `EvaluateHook`: decides when validation is due; the loop runs it.

use hookrack_plugin_api::prelude::*;

/// Runs a validation every few epochs or iterations and at the end of training.
#[derive(Settings)]
pub(super) struct EvaluateHook {
    /// Epochs between validations; 0 for none by epoch.
    #[param(default = 1)]
    interval: u64,
    /// Iterations between validations; 0 for none by iteration.
    #[param(default)]
    eval_iter_period: u64,
    /// Iterations between validations; overrides the two above and disables validation by epoch.
    #[param(min = 1)]
    eval_period: Option<u64>,
    /// Whether to validate at all.
    #[param(default = true)]
    is_run_eval: bool,
    /// File in the run directory for the results of each validation, one JSON object per line, as iMIX's
    /// `eval_result.json`; empty for none, since `metrics.json` has the same numbers.
    #[param(default)]
    eval_json_file: String,
}

impl EvaluateHook {
    /// Epochs and iterations between two validations; 0 for none.
    fn periods(&self) -> (u64, u64) {
        match self.eval_period {
            _ if !self.is_run_eval => (0, 0),
            Some(iters) => (0, iters),
            None => (self.interval, self.eval_iter_period),
        }
    }
}

/// Whether a count is at a multiple of a period; 0 is none.
pub(super) fn is_due(count: u64, period: u64) -> bool {
    period > 0 && count.is_multiple_of(period)
}

#[hook(level = 32, aliases = "EvalHook", on_error = "abort")]
impl Hook for EvaluateHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        match self.eval_json_file.as_str() {
            "" => Ok(()),
            file => t.open_writer("evaluations", file),
        }
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let (_, period) = self.periods();
        if is_due(t.iter(), period) { t.request_validation() } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let (period, iter_period) = self.periods();
        // The last weights are validated, whatever the periods: before the last checkpoint, and before the best is chosen.
        let is_last = t.epoch() >= t.max_epochs() || t.iter() >= t.max_iters();
        let is_last = is_last && period + iter_period > 0;
        if is_last || is_due(t.epoch(), period) { t.request_validation() } else { Ok(()) }
    }
}
