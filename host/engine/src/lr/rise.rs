//! The ways in which a rate rises to its schedule at the beginning of a run.

use hookrack_plugin_api::prelude::Deserialize;

use super::shape::{line, real, share};
use super::span;

/// What `ColossalAI`'s warm-up of `w` steps divides `t + 1` by; its versions have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Divisor {
    /// `w + 1`: the full rate comes with the first step after the rise.
    #[serde(rename = "w+1")]
    Next,
    /// `w`: the last step of the rise has the full rate.
    #[serde(rename = "w")]
    Last,
}

/// `ColossalAI`'s warm-up, as settings.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct LinearRise {
    /// Steps of the rise.
    #[serde(default)]
    pub warmup_steps: u64,
    /// The rise as a share of the run, instead of `warmup_steps`.
    #[param(min = 0.0, max = 1.0)]
    pub warmup_ratio: Option<f64>,
    /// What `t + 1` is divided by in a rise of `w` steps; unless set `w+1`, for `FlatAnnealingWarmupLR` `w`.
    pub warmup_divisor: Option<Divisor>,
}

impl LinearRise {
    /// How many steps it has in a run of `total`.
    pub(super) fn steps(self, total: u64) -> Result<u64, String> {
        span::rise("warmup_steps", self.warmup_steps, self.warmup_ratio, total)
    }

    /// The divisor of a rise of so many steps.
    pub(super) fn divisor(self, steps: u64, default: Divisor) -> u64 {
        steps + u64::from(self.warmup_divisor.unwrap_or(default) == Divisor::Next)
    }

    /// The rise, then a schedule that is made for the steps that are left and begins with its own step 0.
    pub(super) fn before<F: Fn(f64, u64) -> f64>(
        self,
        total: u64,
        default: Divisor,
        then: impl FnOnce(u64, u64) -> F,
    ) -> Result<impl Fn(f64, u64) -> f64, String> {
        let steps = self.steps(total)?;
        let divisor = self.divisor(steps, default);
        Ok(risen(steps, divisor, then(steps, total.saturating_sub(steps))))
    }
}

/// `ColossalAI`'s warm-up: `base (t + 1) / divisor`, then the schedule from its own step 0.
pub(super) fn risen<F: Fn(f64, u64) -> f64>(
    warmup: u64,
    divisor: u64,
    then: F,
) -> impl Fn(f64, u64) -> f64 + use<F> {
    move |base, step| {
        if step < warmup {
            real(step + 1) / real(divisor) * base
        } else {
            then(base, step - warmup)
        }
    }
}

/// The warm-up of Hugging Face's schedules, as settings.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct ZeroRise {
    /// Steps of the rise.
    #[serde(default)]
    num_warmup_steps: u64,
    /// The rise as a share of the run, instead of `num_warmup_steps`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
}

impl ZeroRise {
    /// The rise, then a schedule that is made for the steps that are left and begins with its own step 0.
    pub(super) fn before<F: Fn(f64, u64) -> f64>(
        self,
        total: u64,
        then: impl FnOnce(u64) -> F,
    ) -> Result<impl Fn(f64, u64) -> f64, String> {
        let steps =
            span::rise("num_warmup_steps", self.num_warmup_steps, self.warmup_ratio, total)?;
        Ok(risen_from_zero(steps, then(total.saturating_sub(steps))))
    }
}

/// The warm-up of Hugging Face's schedules: `base t / w`, then the schedule from its own step 0.
pub(super) fn risen_from_zero<F: Fn(f64, u64) -> f64>(
    warmup: u64,
    then: F,
) -> impl Fn(f64, u64) -> f64 + use<F> {
    move |base, step| {
        if step < warmup { share(step, warmup) * base } else { then(base, step - warmup) }
    }
}

/// How a rate rises under a schedule that is not shifted by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    /// From `factor * base` straight to the schedule's rate at the end of the rise. LiBai's.
    #[default]
    Linear,
    /// `factor * base` until the rise is over. LiBai's.
    Constant,
    /// The schedule's rate times a number that goes from `factor` to 1. iMIX's `linear`.
    ScaledLinear,
    /// The schedule's rate times `factor`. iMIX's `constant`.
    ScaledConstant,
}

/// The warm-up of OneFlow and iMIX: the schedule runs from step 0 on, the rise hides its beginning.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Rise {
    /// What the rise begins with, as a factor.
    #[serde(rename = "warmup_factor", default = "factor")]
    #[param(min = 0.0)]
    pub(super) factor: f64,
    /// Steps of the rise.
    #[serde(rename = "warmup_iter", default)]
    pub(super) steps: u64,
    /// The rise as a share of the run, instead of `warmup_iter`.
    #[serde(rename = "warmup_ratio")]
    #[param(min = 0.0, max = 1.0)]
    pub(super) ratio: Option<f64>,
    /// The form of the rise; the scaled ones are iMIX's `linear` and `constant`.
    #[serde(rename = "warmup_method", default)]
    pub(super) method: Method,
}

fn factor() -> f64 {
    0.001
}

impl Rise {
    /// The same rise in steps, in a run of `total`.
    pub(super) fn within(self, total: u64) -> Result<Self, String> {
        let steps = span::rise("warmup_iter", self.steps, self.ratio, total)?;
        Ok(Self { steps, ratio: None, ..self })
    }

    pub(super) fn over(self, inner: impl Fn(f64, u64) -> f64) -> impl Fn(f64, u64) -> f64 {
        move |base, step| {
            if step >= self.steps {
                return inner(base, step);
            }
            let (factor, done) = (self.factor, share(step, self.steps));
            match self.method {
                Method::Linear => line(factor * base, inner(base, self.steps), done),
                Method::Constant => factor * base,
                Method::ScaledLinear => line(factor, 1.0, done) * inner(base, step),
                Method::ScaledConstant => factor * inner(base, step),
            }
        }
    }
}
