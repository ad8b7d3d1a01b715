//! `WarmupLinearScheduleNonZero`: a straight line up and one down, never below a floor; iMIX's formula.

use hookrack_plugin_api::prelude::Settings;

use super::row::rule;
use super::shape::{line, share};
use super::span;
use super::warmup_rules::risen_from_zero;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Warm-up C, then a line to 0, never below `min_lr`.
///
/// `max(min_lr, base t / w)` for `t < w`, then `max(min_lr, base (T - t) / (T - w))`.
#[derive(Debug, Clone, Settings)]
pub(super) struct WarmupLinearScheduleNonZero {
    /// Steps of the warm-up.
    #[param(default)]
    warmup_iterations: u64,
    /// Length of the warm-up as a fraction of the run, instead of `warmup_iterations`.
    #[param(min = 0.0, max = 1.0)]
    warmup_ratio: Option<f64>,
    /// The lowest rate.
    #[param(default = 1e-5, min = 0.0)]
    min_lr: f64,
    /// Count epochs as steps, not iterations.
    #[param(default)]
    by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for WarmupLinearScheduleNonZero {
    const NAME: &'static str = "WarmupLinearScheduleNonZero";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let (steps, ratio) = (self.warmup_iterations, self.warmup_ratio);
        let rise = span::rise("warmup_iterations", steps, ratio, total).map_err(Self::refuse)?;
        let fall = total.saturating_sub(rise);
        let falling = Box::new(move |base, step| line(base, 0.0, share(step, fall)));
        let rate = risen_from_zero(rise, falling);
        Ok(rule(self.by_epoch, Box::new(move |base, step| rate(base, step).max(self.min_lr))))
    }
}
