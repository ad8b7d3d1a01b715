//! `WarmupPolynomialLR`: a rise over a power of what is left; LiBai's formula.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::Rise;
use super::rule::rule;
use super::shape::{polynomial, real, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Rises into a power of what is left of the run, which falls to `end_learning_rate`.
///
/// `(base - end) (1 - t / T)^power + end` from `warmup_iter` on; the rise goes to the value there. With `cycle`, `T` grows
/// to the next multiple past the end, and step 0 counts as 1, as in OneFlow.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupPolynomialLr {
    /// The rate at the end.
    #[serde(default = "end")]
    #[param(min = 0.0)]
    end_learning_rate: f64,
    /// The power.
    #[serde(default = "power")]
    #[param(min = 0.0)]
    power: f64,
    /// Steps of the fall; the whole run unless it is written.
    #[param(min = 1)]
    max_iter: Option<u64>,
    /// Fall again past the end, from a lower top.
    #[serde(default)]
    cycle: bool,
    #[serde(flatten)]
    rise: Rise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn end() -> f64 {
    1e-4
}

fn power() -> f64 {
    1.0
}

/// The share that is behind, where the whole grows by multiples.
fn share_of_multiples(step: u64, total: u64) -> f64 {
    let (step, total) = (step.max(1), total.max(1));
    real(step) / (real(total) * real(step.div_ceil(total)))
}

impl Component<Horizon, dyn LrSchedule> for WarmupPolynomialLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupPolynomialLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let run = horizon.steps(self.by_epoch);
        let rise = self.rise.within(run).map_err(Self::refuse)?;
        let total = self.max_iter.unwrap_or(run);
        Ok(rule(
            self.by_epoch,
            rise.over(move |base, step| {
                let done = if self.cycle { share_of_multiples } else { share };
                polynomial(base, self.end_learning_rate, self.power, done(step, total))
            }),
        ))
    }
}
