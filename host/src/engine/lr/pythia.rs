//! `PythiaScheduler` and `MultiStepScheduler`: a rise, then a stair; iMIX's formula under its two names.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Method, Rise};
use super::rule::rule;
use super::shape::{in_order, stairs};
use super::{Horizon, LrSchedule};
use crate::engine::error::Result;
use crate::engine::registry::Component;

/// Rises from `warmup_factor` times the rate, then multiplies it by `lr_ratio` at each of `lr_steps`.
///
/// `base (warmup_factor (1 - a) + a)` with `a = t / w` for `t ≤ w`, then `base lr_ratio^n` with the number `n` of steps
/// in `lr_steps` that are reached. A step of `lr_steps` within the rise takes effect after it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PythiaScheduler {
    /// The steps at which the rate goes down, from the smallest to the largest.
    lr_steps: Vec<u64>,
    /// The factor at each of them.
    #[serde(default = "lr_ratio")]
    #[param(min = 0.0)]
    lr_ratio: f64,
    /// Begin with the rise.
    #[serde(default)]
    use_warmup: bool,
    /// Steps of the rise.
    #[serde(default)]
    warmup_iterations: u64,
    /// What the rise begins with, as a factor.
    #[serde(default = "warmup_factor")]
    #[param(min = 0.0)]
    warmup_factor: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// The same as `PythiaScheduler`, with a rise that must end before the first of `lr_steps`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiStepScheduler {
    /// The steps at which the rate goes down, from the smallest to the largest.
    lr_steps: Vec<u64>,
    /// The factor at each of them.
    #[serde(default = "lr_ratio")]
    #[param(min = 0.0)]
    lr_ratio: f64,
    /// Begin with the rise.
    #[serde(default)]
    use_warmup: bool,
    /// Steps of the rise.
    #[serde(default)]
    warmup_iterations: u64,
    /// What the rise begins with, as a factor.
    #[serde(default = "warmup_factor")]
    #[param(min = 0.0)]
    warmup_factor: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn lr_ratio() -> f64 {
    0.1
}

fn warmup_factor() -> f64 {
    0.25
}

impl Component<Horizon, dyn LrSchedule> for PythiaScheduler {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "PythiaScheduler";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        in_order("lr_steps", &self.lr_steps).map_err(Self::refuse)?;
        let steps = if self.use_warmup { self.warmup_iterations } else { 0 };
        let rise = Rise { factor: self.warmup_factor, steps, method: Method::ScaledLinear };
        let rise = rise.over(|base, _step| base);
        Ok(rule(self.by_epoch, move |base, step| {
            if step <= steps && steps > 0 {
                return rise(base, step);
            }
            stairs(base, self.lr_ratio, &self.lr_steps, step)
        }))
    }
}

impl Component<Horizon, dyn LrSchedule> for MultiStepScheduler {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "MultiStepScheduler";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let rise = if self.use_warmup { self.warmup_iterations } else { 0 };
        match self.lr_steps.first() {
            Some(&first) if rise > 0 && rise >= first => {
                return Err(Self::refuse(format!(
                    "warmup_iterations = {rise} reaches the first of lr_steps, {first}; end the rise before it"
                )));
            }
            _ => in_order("lr_steps", &self.lr_steps).map_err(Self::refuse)?,
        }
        let Self { lr_steps, lr_ratio, use_warmup, warmup_iterations, warmup_factor, by_epoch } =
            self;
        let same = PythiaScheduler {
            lr_steps,
            lr_ratio,
            use_warmup,
            warmup_iterations,
            warmup_factor,
            by_epoch,
        };
        same.build(horizon)
    }
}
