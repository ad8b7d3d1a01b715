//! `WarmupStepLR`, `WarmupMultiStepLR` and `WarmupExponentialLR`: a rise over a decay that begins at step 0; LiBai's
//! formulas.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::Rise;
use super::rule::rule;
use super::shape::{decayed, in_order, stairs};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Rises into a stair that goes down by `gamma` every `step_size` steps, counted from the start of the run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupStepLr {
    /// Steps between two falls.
    #[param(min = 1)]
    step_size: u64,
    /// The factor.
    #[serde(default = "gamma")]
    #[param(min = 0.0)]
    gamma: f64,
    #[serde(flatten)]
    rise: Rise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises into a stair that goes down by `gamma` at each milestone.
///
/// iMIX's scheduler of this name is `warmup_method = "scaled_linear"` or `"scaled_constant"`; as long as the rise ends
/// before the first milestone, `linear` is the same curve.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupMultiStepLr {
    /// The steps at which the rate goes down, from the smallest to the largest; below 1, shares of the run.
    milestones: Vec<f64>,
    /// The factor.
    #[serde(default = "gamma")]
    #[param(min = 0.0)]
    gamma: f64,
    #[serde(flatten)]
    rise: Rise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises into a rate that is multiplied by `gamma` at each step from the start of the run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupExponentialLr {
    /// The factor.
    #[param(min = 0.0)]
    gamma: f64,
    #[serde(flatten)]
    rise: Rise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn gamma() -> f64 {
    0.1
}

impl Component<Horizon, dyn LrSchedule> for WarmupStepLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupStepLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let rise = self.rise.within(horizon.steps(self.by_epoch)).map_err(Self::refuse)?;
        Ok(rule(
            self.by_epoch,
            rise.over(move |base, step| decayed(base, self.gamma, step / self.step_size)),
        ))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupMultiStepLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupMultiStepLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let rise = self.rise.within(total).map_err(Self::refuse)?;
        let milestones = in_order("milestones", &self.milestones, total).map_err(Self::refuse)?;
        Ok(rule(
            self.by_epoch,
            rise.over(move |base, step| stairs(base, self.gamma, &milestones, step)),
        ))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupExponentialLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupExponentialLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let rise = self.rise.within(horizon.steps(self.by_epoch)).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rise.over(move |base, step| decayed(base, self.gamma, step))))
    }
}
