//! `Warmup`: a rise before, or over, any other schedule.

use hookrack_plugin_api::prelude::Deserialize;

use super::part::{self, Part};
use super::rise::{Method, Rise, risen};
use super::rule::rule;
use super::{Horizon, LrSchedule};
use crate::engine::error::Result;
use crate::engine::registry::Component;

/// Puts a rise before any schedule, or over its beginning.
///
/// With `shift` the schedule begins when the rise is over and has the rest of the run: `ColossalAI`'s way, where the rise is
/// `base (t + 1) / (w + 1)` unless `warmup_factor` says what it begins with. Without `shift` the schedule runs from step 0
/// and the rise leads to its rate at `warmup_steps`: LiBai's way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WarmedUp {
    /// Steps of the rise.
    warmup_steps: u64,
    /// The schedule, `{ type = "…", … }`.
    schedule: Part,
    /// Begin the schedule after the rise, not under it.
    #[serde(default = "shift")]
    shift: bool,
    /// What the rise begins with, as a factor.
    #[param(min = 0.0)]
    warmup_factor: Option<f64>,
    /// The form of a rise with a factor, or without a shift.
    #[serde(default)]
    warmup_method: Method,
    /// Count epochs as steps, not iterations, in both.
    #[serde(default)]
    by_epoch: bool,
}

fn shift() -> bool {
    true
}

impl Component<Horizon, dyn LrSchedule> for WarmedUp {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "Warmup";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let Self {
            warmup_steps: steps, shift, warmup_factor, warmup_method: method, by_epoch, ..
        } = self;
        let total = horizon.steps(by_epoch);
        let own = if shift { total.saturating_sub(steps) } else { total };
        let inner = part::build(&self.schedule, by_epoch, own)
            .map_err(|why| Self::refuse(format!("schedule: {why}")))?;
        if shift && warmup_factor.is_none() {
            return Ok(rule(by_epoch, risen(steps, move |base, step| inner.lr(base, step))));
        }
        let late = if shift { steps } else { 0 };
        let inner = move |base, step: u64| inner.lr(base, step.saturating_sub(late));
        let rise = Rise { factor: warmup_factor.unwrap_or(0.0), steps, method };
        Ok(rule(by_epoch, rise.over(inner)))
    }
}
