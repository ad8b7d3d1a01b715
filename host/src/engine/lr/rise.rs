//! The ways in which a rate rises to its schedule at the beginning of a run.

use hookrack_plugin_api::prelude::Deserialize;

use super::shape::{line, real, share};

/// `ColossalAI`'s warm-up: `base (t + 1) / (w + 1)`, then the schedule from its own step 0.
pub(super) fn risen(warmup: u64, then: impl Fn(f64, u64) -> f64) -> impl Fn(f64, u64) -> f64 {
    move |base, step| {
        if step < warmup {
            real(step + 1) / real(warmup + 1) * base
        } else {
            then(base, step - warmup)
        }
    }
}

/// The warm-up of Hugging Face's schedules: `base t / w`, then the schedule from its own step 0.
pub(super) fn risen_from_zero(
    warmup: u64,
    then: impl Fn(f64, u64) -> f64,
) -> impl Fn(f64, u64) -> f64 {
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
    /// The form of the rise; the scaled ones are iMIX's `linear` and `constant`.
    #[serde(rename = "warmup_method", default)]
    pub(super) method: Method,
}

fn factor() -> f64 {
    0.001
}

impl Rise {
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
