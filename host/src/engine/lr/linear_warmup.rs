//! `LinearWarmupLR` and `LinearWarmupDecay`: a straight line up, a straight line down; ColossalAI's formula.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::risen;
use super::rule::rule;
use super::shape::{line, share};
use super::{Horizon, LrSchedule};
use crate::engine::error::Result;
use crate::engine::registry::Component;

/// Rises for `warmup_steps`, then falls in a straight line to 0 at the end of the run.
///
/// `base (t + 1) / (w + 1)` for `t < w`, then `base (T - t) / (T - w)`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinearWarmupLr {
    /// Steps of the rise.
    #[serde(default)]
    warmup_steps: u64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// The first name of `LinearWarmupLR`; the same curve.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinearWarmupDecay {
    /// Steps of the rise.
    #[serde(default)]
    warmup_steps: u64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn up_and_down(warmup: u64, by_epoch: bool, horizon: Horizon) -> Box<dyn LrSchedule> {
    let fall = horizon.steps(by_epoch).saturating_sub(warmup);
    rule(by_epoch, risen(warmup, move |base, step| line(base, 0.0, share(step, fall))))
}

impl Component<Horizon, dyn LrSchedule> for LinearWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "LinearWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(up_and_down(self.warmup_steps, self.by_epoch, *horizon))
    }
}

impl Component<Horizon, dyn LrSchedule> for LinearWarmupDecay {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "LinearWarmupDecay";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(up_and_down(self.warmup_steps, self.by_epoch, *horizon))
    }
}
