//! `CosineAnnealingWarmupLR`: a linear rise, then half a cosine down; ColossalAI's formula.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Divisor, LinearRise};
use super::rule::rule;
use super::shape::{cosine, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Rises for `warmup_steps`, then falls along half a cosine to `eta_min` at the end of the run.
///
/// With `w` warm-up steps and `T` steps in all the rate is `base (t + 1) / (w + 1)` for `t < w`, and after that
/// `eta_min + (base - eta_min) (1 + cos(π (t - w) / (T - w))) / 2`. Past the end it stays at `eta_min`.
#[derive(Debug, Clone, Deserialize)]
pub struct CosineAnnealingWarmupLr {
    /// The rise.
    #[serde(flatten)]
    pub rise: LinearRise,
    /// The rate at the end.
    #[serde(default)]
    #[param(min = 0.0)]
    pub eta_min: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    pub by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for CosineAnnealingWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "CosineAnnealingWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |_, fall: u64| {
            move |base, step| cosine(base, self.eta_min, share(step, fall.max(1)))
        };
        let rate = self.rise.before(horizon.steps(self.by_epoch), Divisor::Next, then);
        Ok(rule(self.by_epoch, rate.map_err(Self::refuse)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(warmup_steps: u64, eta_min: f64, total_steps: u64) -> Vec<f64> {
        let rise = LinearRise { warmup_steps, warmup_ratio: None, warmup_divisor: None };
        let schedule = CosineAnnealingWarmupLr { rise, eta_min, by_epoch: false };
        let schedule = schedule.build(&Horizon { iters: total_steps, epochs: 1 }).unwrap();
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
