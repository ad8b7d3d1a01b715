//! `BestCheckpointer`: saves a checkpoint whenever a value is the best so far, and keeps the best ones.

use super::checkpoint_name;
use super::monitored::{self, MonitorMode};
use hookrack_plugin_api::Better;
use hookrack_plugin_api::prelude::*;

/// Saves a checkpoint after a validation whose monitored value is the best so far, and keeps the best ones.
#[derive(Settings)]
pub(super) struct BestCheckpointer {
    /// The scalar to monitor: `val/Accuracy`.
    #[param(monitor)]
    val_metric: String,
    /// Whether lower or higher values are better; `auto` uses the direction of the metric.
    #[param(default)]
    mode: MonitorMode,
    /// How many of the best checkpoints to keep.
    #[param(default = 1, min = 1)]
    top_k: u64,
    /// Consider only validations at a multiple of this many iterations, and the last one; 0 for all.
    #[param(default)]
    eval_period: u64,
    /// A second name for the best checkpoint: `model_best` becomes a link to it.
    #[param(default, alias = "prefix", check = checkpoint_name::is_part)]
    file_prefix: String,
    #[param(state)]
    best: BestSoFar,
}

impl BestCheckpointer {
    fn looks_at(&self, iter: u64, last: u64) -> bool {
        self.eval_period == 0 || iter.is_multiple_of(self.eval_period) || iter == last
    }
}

/// The best value so far.
#[derive(Default)]
pub(super) struct BestSoFar(Option<f64>);

impl BestSoFar {
    /// Adds a value; returns whether it is the best so far. NaN never is.
    pub(super) fn improves(&mut self, value: f64, better: Better) -> bool {
        let is_better =
            value.is_finite() && self.0.is_none_or(|best| better.is_better(value, best));
        if is_better {
            self.0 = Some(value);
        }
        is_better
    }

    /// Warns if training is over and there never was a best value.
    pub(super) fn warn_if_none(&self, t: &Trainer, name: &str) {
        if self.0.is_none() && t.outcome() == Some(Outcome::Completed) {
            warn!("training ended and nothing logged `{name}`, which selects the best checkpoint");
        }
    }
}

impl StateField for BestSoFar {
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        self.0.save(key, state)
    }

    fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
        self.0.load(key, state)
    }
}

#[hook(level = 43, on_error = "abort")]
impl Hook for BestCheckpointer {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        let better = monitored::direction(t, &self.val_metric, self.mode)?;
        t.keep_checkpoints(&Keep {
            last: Some(0),
            metric: &self.val_metric,
            higher_is_better: better == Better::Higher,
            top: self.top_k,
            ..Keep::default()
        })?;
        t.name_checkpoints(&self.file_prefix)
    }

    fn after_val(&mut self, t: &mut Trainer) -> Result<()> {
        if !self.looks_at(t.iter(), t.max_iters()) {
            return Ok(());
        }
        let Some(reading) = monitored::expect(t, &self.val_metric, self.mode)? else {
            return Ok(());
        };
        let improves = self.best.improves(reading.value, reading.better);
        if improves || (self.top_k > 1 && reading.value.is_finite()) {
            t.request_checkpoint()?;
        }
        Ok(())
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.best.warn_if_none(t, &self.val_metric);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_infinity_are_never_best() {
        let mut best = BestSoFar::default();
        assert!(!best.improves(f64::NAN, Better::Higher));
        assert!(!best.improves(f64::INFINITY, Better::Higher));
        assert!(best.improves(0.5, Better::Higher));
        assert!(!best.improves(0.5, Better::Higher));
        assert!(best.improves(0.6, Better::Higher));
        assert!(!best.improves(f64::NAN, Better::Higher));
        assert!(best.improves(0.1, Better::Lower));
    }
}
