//! `PythiaScheduler` and `MultiStepScheduler`: a rise, then a stair; iMIX's formula under its two names.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Method, Rise};
use super::rule::rule;
use super::shape::{in_order, stairs};
use super::span;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Rises from `warmup_factor` times the rate, then multiplies it by `lr_ratio` at each of `lr_steps`.
///
/// `base (warmup_factor (1 - a) + a)` with `a = t / w` for `t ≤ w`, then `base lr_ratio^n` with the number `n` of steps
/// in `lr_steps` that are reached. A step of `lr_steps` within the rise takes effect after it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PythiaScheduler {
    /// The steps at which the rate goes down, from the smallest to the largest; below 1, shares of the run.
    lr_steps: Vec<f64>,
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
    /// The rise as a share of the run, instead of `warmup_iterations`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
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
    /// The steps at which the rate goes down, from the smallest to the largest; below 1, shares of the run.
    lr_steps: Vec<f64>,
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
    /// The rise as a share of the run, instead of `warmup_iterations`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
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

/// Rise and stair, of either name.
struct Stairs {
    lr_steps: Vec<u64>,
    lr_ratio: f64,
    rise: Rise,
    by_epoch: bool,
}

impl Stairs {
    fn of(settings: PythiaScheduler, horizon: Horizon) -> std::result::Result<Self, String> {
        let PythiaScheduler { lr_steps, lr_ratio, warmup_factor: factor, by_epoch, .. } = settings;
        let total = horizon.steps(by_epoch);
        let lr_steps = in_order("lr_steps", &lr_steps, total)?;
        let (steps, ratio) = (settings.warmup_iterations, settings.warmup_ratio);
        let steps = span::rise("warmup_iterations", steps, ratio, total)?;
        let steps = if settings.use_warmup { steps } else { 0 };
        let rise = Rise { factor, steps, ratio: None, method: Method::ScaledLinear };
        Ok(Self { lr_steps, lr_ratio, rise, by_epoch })
    }

    fn build(self) -> Box<dyn LrSchedule> {
        let steps = self.rise.steps;
        let rise = self.rise.over(|base, _step| base);
        rule(self.by_epoch, move |base, step| {
            if step <= steps && steps > 0 {
                return rise(base, step);
            }
            stairs(base, self.lr_ratio, &self.lr_steps, step)
        })
    }
}

impl Component<Horizon, dyn LrSchedule> for PythiaScheduler {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "PythiaScheduler";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(Stairs::of(self, *horizon).map_err(Self::refuse)?.build())
    }
}

impl Component<Horizon, dyn LrSchedule> for MultiStepScheduler {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "MultiStepScheduler";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let same = PythiaScheduler {
            lr_steps: self.lr_steps,
            lr_ratio: self.lr_ratio,
            use_warmup: self.use_warmup,
            warmup_iterations: self.warmup_iterations,
            warmup_ratio: self.warmup_ratio,
            warmup_factor: self.warmup_factor,
            by_epoch: self.by_epoch,
        };
        let stairs = Stairs::of(same, *horizon).map_err(Self::refuse)?;
        let rise = stairs.rise.steps;
        // Shares of a run of a few steps may fall together; steps that are written down may not.
        let written = self.warmup_ratio.is_none();
        match stairs.lr_steps.first() {
            Some(&first) if written && rise > 0 && rise >= first => Err(Self::refuse(format!(
                "warmup_iterations = {rise} reaches the first of lr_steps, {first}; end the rise before it"
            ))),
            _ => Ok(stairs.build()),
        }
    }
}
