//! `PolynomialLR` and `PolynomialWarmupLR`: a power of what is left; ColossalAI's and PyTorch's formulas.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Divisor, LinearRise};
use super::rule::rule;
use super::shape::{polynomial, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Falls along a power of what is left of the run, to `end_lr`.
///
/// `(base - end_lr) (1 - min(t, T) / T)^power + end_lr`. PyTorch's scheduler of this name is `end_lr = 0` with
/// `total_iters`, ColossalAI's is the default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolynomialLr {
    /// The rate at the end.
    #[serde(default = "end_lr")]
    #[param(min = 0.0)]
    end_lr: f64,
    /// The power.
    #[serde(default = "power")]
    #[param(min = 0.0)]
    power: f64,
    /// Steps of the fall; the whole run unless it is written.
    #[param(min = 1)]
    total_iters: Option<u64>,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises for `warmup_steps`, then falls along a power of what is left of the run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PolynomialWarmupLr {
    #[serde(flatten)]
    rise: LinearRise,
    /// The rate at the end.
    #[serde(default = "end_lr")]
    #[param(min = 0.0)]
    end_lr: f64,
    /// The power.
    #[serde(default = "power")]
    #[param(min = 0.0)]
    power: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn end_lr() -> f64 {
    1e-4
}

fn power() -> f64 {
    1.0
}

impl Component<Horizon, dyn LrSchedule> for PolynomialLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "PolynomialLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = self.total_iters.unwrap_or(horizon.steps(self.by_epoch));
        Ok(rule(self.by_epoch, move |base, step| {
            polynomial(base, self.end_lr, self.power, share(step, total))
        }))
    }
}

impl Component<Horizon, dyn LrSchedule> for PolynomialWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "PolynomialWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |_, fall| {
            move |base, step| polynomial(base, self.end_lr, self.power, share(step, fall))
        };
        let rate = self.rise.before(horizon.steps(self.by_epoch), Divisor::Next, then);
        Ok(rule(self.by_epoch, rate.map_err(Self::refuse)?))
    }
}
