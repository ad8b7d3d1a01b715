//! `CosineAnnealingWarmupLR`: a linear rise, then half a cosine down; ColossalAI's formula.

use std::f64::consts::PI;

use hookrack_plugin_api::prelude::Deserialize;

use super::{Horizon, LrSchedule};
use crate::engine::error::Result;
use crate::engine::registry::Component;

/// Rises for `warmup_steps`, then falls along half a cosine to `eta_min` at the end of the run.
///
/// With `w` warm-up steps and `T` steps in all the rate is `base (t + 1) / (w + 1)` for `t < w`, and after that
/// `eta_min + (base - eta_min) (1 + cos(π (t - w) / (T - w))) / 2`. Past the end it stays at `eta_min`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosineAnnealingWarmupLr {
    /// Steps of the rise.
    #[serde(default)]
    pub warmup_steps: u64,
    /// The rate at the end.
    #[serde(default)]
    #[param(min = 0.0)]
    pub eta_min: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    pub by_epoch: bool,
    #[serde(skip)]
    total_steps: u64,
}

impl Component<Horizon, dyn LrSchedule> for CosineAnnealingWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "CosineAnnealingWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(Box::new(Self { total_steps: horizon.steps(self.by_epoch), ..self }))
    }
}

impl LrSchedule for CosineAnnealingWarmupLr {
    #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
    fn lr(&self, base: f64, step: u64) -> f64 {
        let warmup = self.warmup_steps;
        if step < warmup {
            return (step + 1) as f64 / (warmup + 1) as f64 * base;
        }
        let fall = self.total_steps.saturating_sub(warmup).max(1);
        let done = (step - warmup).min(fall) as f64 / fall as f64;
        self.eta_min + (base - self.eta_min) * (1.0 + (PI * done).cos()) / 2.0
    }

    fn by_epoch(&self) -> bool {
        self.by_epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(warmup_steps: u64, eta_min: f64, total_steps: u64) -> Vec<f64> {
        let schedule =
            CosineAnnealingWarmupLr { warmup_steps, eta_min, by_epoch: false, total_steps };
        (0..=total_steps + 1).map(|step| schedule.lr(1.0, step)).collect()
    }

    fn assert_close(found: &[f64], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len());
        for (step, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            assert!((found - wanted).abs() < 1e-12, "step {step}: {found}, not {wanted}");
        }
    }

    #[test]
    fn the_table_of_the_formula() {
        let half = 0.5_f64.sqrt();
        let down = [1.0, f64::midpoint(1.0, half), 0.5, f64::midpoint(1.0, -half), 0.0, 0.0];
        assert_close(&curve(0, 0.0, 4), &down);
        let mut with_rise = vec![0.25, 0.5, 0.75];
        with_rise.extend(down);
        assert_close(&curve(3, 0.0, 7), &with_rise);
        let lifted: Vec<f64> = down.iter().map(|rate| 0.1 + 0.9 * rate).collect();
        assert_close(&curve(0, 0.1, 4), &lifted);
    }

    #[test]
    fn a_rise_longer_than_the_run_is_cut_short_by_its_end() {
        assert_close(&curve(9, 0.0, 2), &[0.1, 0.2, 0.3, 0.4]);
    }
}
