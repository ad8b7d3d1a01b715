//! iMIX's `…Schedule` family, which is Hugging Face's: a rise from 0, then one shape.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::ZeroRise;
use super::rule::rule;
use super::shape::{cosine, line, polynomial, real, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// The optimizer's own rate throughout.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConstantSchedule {
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises from 0 for `num_warmup_steps`, then keeps the rate.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupConstantSchedule {
    #[serde(flatten)]
    rise: ZeroRise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises from 0 for `num_warmup_steps`, then falls in a straight line to 0 at the end of the run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupLinearSchedule {
    #[serde(flatten)]
    rise: ZeroRise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises from 0 for `num_warmup_steps`, then follows a cosine for `num_cycles` of its waves.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupCosineSchedule {
    #[serde(flatten)]
    rise: ZeroRise,
    /// Waves until the end of the run; a half one ends at 0.
    #[serde(default = "half_a_wave")]
    #[param(min = 0.0)]
    num_cycles: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises from 0 for `num_warmup_steps`, then falls along half a cosine `num_cycles` times, each from the top.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupCosineWithHardRestartsSchedule {
    #[serde(flatten)]
    rise: ZeroRise,
    /// How many falls there are until the end of the run.
    #[serde(default = "one_fall")]
    #[param(min = 1)]
    num_cycles: u64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises from 0 for `num_warmup_steps`, then falls along a power of what is left of the run, to `lr_end`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupPolynomialSchedule {
    #[serde(flatten)]
    rise: ZeroRise,
    /// The rate at the end.
    #[serde(default = "lr_end")]
    #[param(min = 0.0)]
    lr_end: f64,
    /// The power.
    #[serde(default = "power")]
    #[param(min = 0.0)]
    power: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn half_a_wave() -> f64 {
    0.5
}

fn one_fall() -> u64 {
    1
}

fn lr_end() -> f64 {
    1e-7
}

fn power() -> f64 {
    1.0
}

impl Component<Horizon, dyn LrSchedule> for ConstantSchedule {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "ConstantSchedule";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(rule(self.by_epoch, |base, _step| base))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupConstantSchedule {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupConstantSchedule";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let rate = self.rise.before(total, |_| |base, _step| base).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rate))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupLinearSchedule {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupLinearSchedule";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |fall| move |base, step| line(base, 0.0, share(step, fall));
        let rate = self.rise.before(horizon.steps(self.by_epoch), then).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rate))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupCosineSchedule {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupCosineSchedule";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |fall| {
            move |base, step| cosine(base, 0.0, 2.0 * self.num_cycles * share(step, fall))
        };
        let rate = self.rise.before(horizon.steps(self.by_epoch), then).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rate))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupCosineWithHardRestartsSchedule {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupCosineWithHardRestartsSchedule";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |fall| {
            move |base, step| {
                let done = share(step, fall);
                // The end of the last fall is its bottom, not the top of another one.
                let within = if done < 1.0 { (real(self.num_cycles) * done).fract() } else { 1.0 };
                cosine(base, 0.0, within)
            }
        };
        let rate = self.rise.before(horizon.steps(self.by_epoch), then).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rate))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupPolynomialSchedule {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupPolynomialSchedule";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let then = move |fall| {
            move |base, step| polynomial(base, self.lr_end, self.power, share(step, fall))
        };
        let rate = self.rise.before(horizon.steps(self.by_epoch), then).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rate))
    }
}
