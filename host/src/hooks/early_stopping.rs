//! `EarlyStoppingHook`: ends a run that no longer gets better.

use super::monitored::{self, MonitorMode};
use hookrack_plugin_api::Better;
use hookrack_plugin_api::prelude::*;

/// Stops training when a monitored value has stopped improving.
#[derive(Settings)]
pub(super) struct EarlyStoppingHook {
    /// The scalar to monitor: `val/loss`, `val/Accuracy`, any other.
    #[param(default = "val/loss", monitor)]
    monitor: String,
    /// Whether lower or higher values are better; `auto` uses the direction of the metric.
    #[param(default, alias = "rule")]
    mode: MonitorMode,
    /// Checks without improvement after which training stops.
    #[param(default = 5, min = 1)]
    patience: u64,
    /// Minimum improvement that counts.
    #[param(default, min = 0, alias = "threshold")]
    min_delta: f64,
    /// Stop training as soon as the value is infinite or NaN.
    #[param(default = true)]
    check_finite: bool,
    /// Stop training as soon as the value is at least this good.
    stopping_threshold: Option<f64>,
    #[param(skip)]
    waiting: Patience,
}

/// The best value so far, and the number of checks since.
#[derive(Default)]
struct Patience {
    best: Option<f64>,
    waited: u64,
}

impl Patience {
    /// Adds a value. NaN is never better.
    fn look(&mut self, value: f64, better: Better, min_delta: f64) {
        let margin = f64::from(Better::sign(Some(better))) * min_delta;
        if better.is_better(value, self.best.map_or(f64::NAN, |best| best + margin)) {
            (self.best, self.waited) = (Some(value), 0);
        } else {
            self.waited += 1;
        }
    }
}

impl EarlyStoppingHook {
    fn look(&mut self, t: &mut Trainer) -> Result<()> {
        let name = &self.monitor;
        let Some(now) = monitored::expect(t, name, self.mode)? else { return Ok(()) };
        let better = now.better;
        self.waiting.look(now.value, better, self.min_delta);
        let reached =
            self.stopping_threshold.is_some_and(|goal| !better.is_better(goal, now.value));
        if self.check_finite && !now.value.is_finite() {
            return t.request_stop(&format!("{name} is {}", now.value));
        }
        if reached {
            return t.request_stop(&format!("{name} has reached {:.6}", now.value));
        }
        if self.waiting.waited >= self.patience {
            let best = self.waiting.best.unwrap_or(f64::NAN);
            let why =
                format!("{name} has not improved on {best:.6} for {} checks", self.waiting.waited);
            return t.request_stop(&why);
        }
        Ok(())
    }
}

#[hook(level = 55, reads = "metrics, events", on_error = "abort")]
impl Hook for EarlyStoppingHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        // Fails at the start if the direction is unknown.
        monitored::direction(t, &self.monitor, self.mode).map(drop)
    }

    fn after_val(&mut self, t: &mut Trainer) -> Result<()> {
        if monitored::phase_of(&self.monitor) == Some(Phase::Val) { self.look(t) } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if monitored::phase_of(&self.monitor) == Some(Phase::Val) { Ok(()) } else { self.look(t) }
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        let is_over = matches!(t.outcome(), Some(Outcome::Completed));
        if is_over && self.waiting.best.is_none() && self.waiting.waited == 0 {
            warn!("training ended and nothing logged `{}`, which this hook monitors", self.monitor);
        }
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("waited", self.waiting.waited)?;
        self.waiting.best.map_or(Ok(()), |best| state.put("best", best))
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        // A run that was saved before the first check has no best value.
        let best = state.value("best").ok();
        self.waiting = Patience { best, waited: state.value("waited")? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(values: &[f64], higher: bool, min_delta: f64) -> u64 {
        let mut waiting = Patience::default();
        for value in values {
            waiting.look(*value, Better::of(higher), min_delta);
        }
        waiting.waited
    }

    #[test]
    fn looks_are_counted_since_the_best_value() {
        assert_eq!(waited(&[1.0, 0.5, 0.6, 0.7], false, 0.0), 2);
        assert_eq!(waited(&[0.1, 0.5, 0.5], true, 0.0), 1);
        assert_eq!(waited(&[1.0, 0.95, 0.91, 0.85], false, 0.1), 0);
        assert_eq!(waited(&[1.0, 0.95, 0.91], false, 0.1), 2);
    }

    #[test]
    fn nan_is_never_better_and_anything_is_better_than_nothing() {
        assert_eq!(waited(&[f64::NAN, f64::NAN], true, 0.0), 2);
        assert_eq!(waited(&[f64::NAN, 3.0], true, 0.0), 0);
        assert_eq!(waited(&[3.0, f64::NAN, 4.0], true, 0.0), 0);
    }
}
