//! `PythiaScheduler` and `MultiStepScheduler`: a warm-up, then a factor at each of some steps; iMIX's formula under its two names.

use hookrack_plugin_api::prelude::Settings;

use super::row::{Steps, rule};
use super::shape::{in_order, stairs};
use super::span;
use super::warmup_rules::{Method, OverlappingWarmup};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// A line from `warmup_factor base` to `base`, then times `lr_ratio` at each of `lr_steps`.
///
/// `base (warmup_factor (1 - a) + a)` with `a = t / w` for `t ≤ w`, then `base lr_ratio^n` with the number `n` of steps
/// in `lr_steps` that are reached. A step of `lr_steps` within the warm-up takes effect after it.
#[derive(Debug, Clone, Settings)]
pub(super) struct PythiaScheduler {
    /// Steps at which the rate is multiplied by `lr_ratio`, in ascending order; values below 1 are fractions of the run.
    lr_steps: Vec<f64>,
    /// Factor at each of these steps.
    #[param(default = 0.1, min = 0.0)]
    lr_ratio: f64,
    /// Start with a warm-up.
    #[param(default = false)]
    use_warmup: bool,
    /// Steps of the warm-up.
    #[param(default = 0)]
    warmup_iterations: u64,
    /// Length of the warm-up as a fraction of the run, instead of `warmup_iterations`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
    /// Factor at the start of the warm-up.
    #[param(default = 0.25, min = 0.0)]
    warmup_factor: f64,
    #[param(flatten)]
    steps: Steps,
}

/// `PythiaScheduler` with a warm-up that must end before the first of `lr_steps`.
#[derive(Debug, Clone, Settings)]
pub(super) struct MultiStepScheduler {
    #[param(flatten)]
    same: PythiaScheduler,
}

/// The schedule of either name.
struct PythiaSchedule {
    lr_steps: Vec<u64>,
    lr_ratio: f64,
    rise: OverlappingWarmup,
    by_epoch: bool,
}

impl PythiaSchedule {
    fn of(settings: &PythiaScheduler, horizon: Horizon) -> std::result::Result<Self, String> {
        let PythiaScheduler { lr_ratio, warmup_factor: factor, .. } = *settings;
        let by_epoch = settings.steps.by_epoch;
        let total = horizon.steps(by_epoch);
        let lr_steps = in_order("lr_steps", &settings.lr_steps, total)?;
        let (steps, ratio) = (settings.warmup_iterations, settings.warmup_ratio);
        let rise = if settings.use_warmup { span::rise } else { span::rise_unchecked };
        let steps = rise("warmup_iterations", steps, ratio, total)?;
        let steps = if settings.use_warmup { steps } else { 0 };
        let rise = OverlappingWarmup { factor, steps, ratio: None, method: Method::ScaledLinear };
        Ok(Self { lr_steps, lr_ratio, rise, by_epoch })
    }

    fn build(self) -> Box<dyn LrSchedule> {
        let Self { lr_steps, lr_ratio, rise, by_epoch } = self;
        rule(
            by_epoch,
            Box::new(move |base, step| {
                if step <= rise.steps && rise.steps > 0 {
                    return rise.over(&|base, _step| base, base, step);
                }
                stairs(base, lr_ratio, &lr_steps, step)
            }),
        )
    }
}

impl Component<Horizon, dyn LrSchedule> for PythiaScheduler {
    const NAME: &'static str = "PythiaScheduler";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(PythiaSchedule::of(&self, *horizon).map_err(Self::refuse)?.build())
    }
}

impl Component<Horizon, dyn LrSchedule> for MultiStepScheduler {
    const NAME: &'static str = "MultiStepScheduler";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let stairs = PythiaSchedule::of(&self.same, *horizon).map_err(Self::refuse)?;
        let rise = stairs.rise.steps;
        // Fractions of a short run may round to the same step; explicit steps must differ.
        let written = self.same.warmup_ratio.is_none();
        match stairs.lr_steps.first() {
            Some(&first) if written && rise > 0 && rise >= first => Err(Self::refuse(format!(
                "warmup_iterations = {rise} must be below the first of lr_steps, {first}"
            ))),
            _ => Ok(stairs.build()),
        }
    }
}
