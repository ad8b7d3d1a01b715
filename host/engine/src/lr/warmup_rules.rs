//! Warm-ups: the ways in which a rate rises to its schedule at the beginning of a run.

use hookrack_plugin_api::Describe;
use hookrack_plugin_api::prelude::Settings;
use serde::de::DeserializeOwned;

use super::curve::{Curve, Rate, Span};
use super::shape::{line, real, share};
use super::span;

/// Settings that are a warm-up.
pub(super) trait WarmupRule: DeserializeOwned + Describe {
    /// The warm-up in a run of `total` steps, and the curve over its part of the run.
    ///
    /// # Errors
    /// What is wrong with the settings of either.
    fn before(self, total: u64, curve: impl Curve) -> Result<Rate, String>;
}

/// No warm-up.
#[derive(Debug, Clone, Copy, Settings)]
pub(super) struct NoWarmup {}

impl WarmupRule for NoWarmup {
    fn before(self, total: u64, curve: impl Curve) -> Result<Rate, String> {
        curve.rate(Span { total, start: 0 })
    }
}

/// What `ColossalAI`'s warm-up of `w` steps divides `t + 1` by; its versions have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub(super) enum Divisor {
    /// `w + 1`: the first step after the warm-up has the full rate.
    #[param(name = "w+1")]
    Next,
    /// `w`: the last step of the warm-up has the full rate.
    #[param(name = "w")]
    Last,
}

impl Divisor {
    /// The divisor for a warm-up of this many steps.
    pub(super) fn of(self, steps: u64) -> u64 {
        steps + u64::from(self == Self::Next)
    }
}

/// `ColossalAI`'s warm-up: `base (t + 1) / (w + 1)`, then the curve from its own step 0.
#[derive(Debug, Clone, Copy, Settings)]
#[expect(clippy::struct_field_names, reason = "the keys of a config")]
pub(super) struct ColossalWarmup {
    /// Steps of the warm-up.
    #[param(default = 0)]
    warmup_steps: u64,
    /// Length of the warm-up as a fraction of the run, instead of `warmup_steps`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
    /// Divisor of `t + 1` in a warm-up of `w` steps. Default: `"w+1"`, for `FlatAnnealingWarmupLR` `"w"`.
    warmup_divisor: Option<Divisor>,
}

impl ColossalWarmup {
    fn divided(self, default: Divisor, total: u64, curve: impl Curve) -> Result<Rate, String> {
        let steps = span::rise("warmup_steps", self.warmup_steps, self.warmup_ratio, total)?;
        let divisor = self.warmup_divisor.unwrap_or(default).of(steps);
        let then = curve.rate(Span { total, start: steps })?;
        Ok(Box::new(move |base, step| risen(steps, divisor, &then, base, step)))
    }
}

impl WarmupRule for ColossalWarmup {
    fn before(self, total: u64, curve: impl Curve) -> Result<Rate, String> {
        self.divided(Divisor::Next, total, curve)
    }
}

/// The same with `base (t + 1) / w`, which `FlatAnnealingWarmupLR` has.
#[derive(Debug, Clone, Copy, Settings)]
pub(super) struct ColossalFullWarmup {
    #[param(flatten)]
    rise: ColossalWarmup,
}

impl WarmupRule for ColossalFullWarmup {
    fn before(self, total: u64, curve: impl Curve) -> Result<Rate, String> {
        self.rise.divided(Divisor::Last, total, curve)
    }
}

/// `base (t + 1) / divisor` for `warmup` steps, then `then` from its own step 0.
pub(super) fn risen(
    warmup: u64,
    divisor: u64,
    then: &impl Fn(f64, u64) -> f64,
    base: f64,
    step: u64,
) -> f64 {
    if step < warmup { real(step + 1) / real(divisor) * base } else { then(base, step - warmup) }
}

/// Hugging Face's warm-up: `base t / w`, then the curve from its own step 0.
#[derive(Debug, Clone, Copy, Settings)]
pub(super) struct HuggingFaceWarmup {
    /// Steps of the warm-up.
    #[param(default = 0)]
    num_warmup_steps: u64,
    /// Length of the warm-up as a fraction of the run, instead of `num_warmup_steps`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
}

impl WarmupRule for HuggingFaceWarmup {
    fn before(self, total: u64, curve: impl Curve) -> Result<Rate, String> {
        let steps = self.num_warmup_steps;
        let steps = span::rise("num_warmup_steps", steps, self.warmup_ratio, total)?;
        Ok(risen_from_zero(steps, curve.rate(Span { total, start: steps })?))
    }
}

/// `base t / w` for `warmup` steps, then `then` from its own step 0.
pub(super) fn risen_from_zero(warmup: u64, then: Rate) -> Rate {
    Box::new(
        move |base, step| {
            if step < warmup { share(step, warmup) * base } else { then(base, step - warmup) }
        },
    )
}

/// How a rate rises over a curve that is not shifted by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
pub(super) enum Method {
    /// From `factor * base` straight to the curve's rate at the end of the rise. LiBai's.
    #[default]
    Linear,
    /// `factor * base` until the rise is over. LiBai's.
    Constant,
    /// The curve's rate times a number that goes from `factor` to 1. iMIX's `linear`.
    ScaledLinear,
    /// The curve's rate times `factor`. iMIX's `constant`.
    ScaledConstant,
}

/// The warm-up of LiBai and iMIX: the curve runs from step 0 on, the rise covers its beginning.
#[derive(Debug, Clone, Copy, Settings)]
pub(super) struct OverlappingWarmup {
    /// Factor at the start of the warm-up.
    #[param(default = 0.001, min = 0.0, name = "warmup_factor")]
    pub(super) factor: f64,
    /// Steps of the warm-up.
    #[param(default = 0, name = "warmup_iter")]
    pub(super) steps: u64,
    /// Length of the warm-up as a fraction of the run, instead of `warmup_iter`.
    #[param(min = 0.0, max = 1.0, name = "warmup_ratio")]
    pub(super) ratio: Option<f64>,
    /// Form of the warm-up; the scaled ones are iMIX's `linear` and `constant`.
    #[param(default, name = "warmup_method")]
    pub(super) method: Method,
}

impl OverlappingWarmup {
    /// The rate at a step of the rise, or of the curve after it.
    pub(super) fn over(&self, curve: &impl Fn(f64, u64) -> f64, base: f64, step: u64) -> f64 {
        if step >= self.steps {
            return curve(base, step);
        }
        let (factor, done) = (self.factor, share(step, self.steps));
        match self.method {
            Method::Linear => line(factor * base, curve(base, self.steps), done),
            Method::Constant => factor * base,
            Method::ScaledLinear => line(factor, 1.0, done) * curve(base, step),
            Method::ScaledConstant => factor * curve(base, step),
        }
    }
}

impl WarmupRule for OverlappingWarmup {
    fn before(self, total: u64, curve: impl Curve) -> Result<Rate, String> {
        let steps = span::rise("warmup_iter", self.steps, self.ratio, total)?;
        let rise = Self { steps, ratio: None, ..self };
        let curve = curve.rate(Span { total, start: 0 })?;
        Ok(Box::new(move |base, step| rise.over(&curve, base, step)))
    }
}
