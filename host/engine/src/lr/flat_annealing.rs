//! `FlatAnnealingLR` and `FlatAnnealingWarmupLR`: flat, then half a cosine down; ColossalAI's formulas.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Divisor, LinearRise};
use super::rule::rule;
use super::shape::{cosine, real, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Keeps the rate for `pct_start` of the run, then falls along half a cosine to 0.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlatAnnealingLr {
    /// The share of the run that is flat.
    #[serde(default = "pct_start")]
    #[param(min = 0.0, max = 1.0)]
    pct_start: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises for `warmup_steps`, is flat for `pct_start` of the rest, then falls along half a cosine.
///
/// The rise is `base (t + 1) / w`, which has the full rate at its last step: another one than that of
/// `CosineAnnealingWarmupLR`, unless `warmup_divisor` says so.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct FlatAnnealingWarmupLr {
    #[serde(flatten)]
    rise: LinearRise,
    /// The share of the other steps that is flat.
    #[serde(default = "pct_start")]
    #[param(min = 0.0, max = 1.0)]
    pct_start: f64,
    /// The rate at the end.
    #[serde(default)]
    #[param(min = 0.0)]
    eta_min: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn pct_start() -> f64 {
    0.72
}

/// Flat, then down: the rate at a step of `total`.
fn flat_then_down(total: u64, pct_start: f64, eta_min: f64) -> impl Fn(f64, u64) -> f64 {
    let flat = part_of(total, pct_start);
    move |base, step| cosine(base, eta_min, share(step.saturating_sub(flat), total - flat))
}

/// A share of the steps, rounded down; never more than all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1 of a count; a cast from a float saturates"
)]
fn part_of(total: u64, share: f64) -> u64 {
    ((real(total) * share) as u64).min(total)
}

impl Component<Horizon, dyn LrSchedule> for FlatAnnealingLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "FlatAnnealingLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        Ok(rule(self.by_epoch, flat_then_down(total, self.pct_start, 0.0)))
    }
}

impl Component<Horizon, dyn LrSchedule> for FlatAnnealingWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "FlatAnnealingWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |_, left| flat_then_down(left, self.pct_start, self.eta_min);
        let rate = self.rise.before(horizon.steps(self.by_epoch), Divisor::Last, then);
        Ok(rule(self.by_epoch, rate.map_err(Self::refuse)?))
    }
}
