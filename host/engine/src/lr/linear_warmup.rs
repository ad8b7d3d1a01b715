//! `LinearWarmupLR` and `LinearWarmupDecay`: a straight line up, a straight line down; ColossalAI's formula.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Divisor, LinearRise};
use super::rule::rule;
use super::shape::{line, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Rises for `warmup_steps`, then falls in a straight line to 0 at the end of the run.
///
/// `base (t + 1) / (w + 1)` for `t < w`, then `base (T - t) / (T - w)`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct LinearWarmupLr {
    #[serde(flatten)]
    rise: LinearRise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// The first name of `LinearWarmupLR`; the same curve.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct LinearWarmupDecay {
    #[serde(flatten)]
    rise: LinearRise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn up_and_down(
    rise: LinearRise,
    by_epoch: bool,
    horizon: Horizon,
) -> std::result::Result<Box<dyn LrSchedule>, String> {
    let then = move |_, fall| move |base, step| line(base, 0.0, share(step, fall));
    Ok(rule(by_epoch, rise.before(horizon.steps(by_epoch), Divisor::Next, then)?))
}

impl Component<Horizon, dyn LrSchedule> for LinearWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "LinearWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        up_and_down(self.rise, self.by_epoch, *horizon).map_err(Self::refuse)
    }
}

impl Component<Horizon, dyn LrSchedule> for LinearWarmupDecay {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "LinearWarmupDecay";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        up_and_down(self.rise, self.by_epoch, *horizon).map_err(Self::refuse)
    }
}
