//! `MultiStepLR` and `MultiStepWarmupLR`: a stair whose steps are written down; ColossalAI's and PyTorch's formulas.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::{Divisor, LinearRise};
use super::rule::rule;
use super::shape::{in_order, stairs};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Multiplies the rate by `gamma` at each milestone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiStepLr {
    /// The steps at which the rate goes down, from the smallest to the largest; below 1, shares of the run.
    milestones: Vec<f64>,
    /// The factor.
    #[serde(default = "gamma")]
    #[param(min = 0.0)]
    gamma: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises for `warmup_steps`, then multiplies the rate by `gamma` at each milestone.
///
/// Milestones are steps of the run; those within the rise do nothing.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct MultiStepWarmupLr {
    #[serde(flatten)]
    rise: LinearRise,
    /// The steps at which the rate goes down, from the smallest to the largest; below 1, shares of the run.
    milestones: Vec<f64>,
    /// The factor.
    #[serde(default = "gamma")]
    #[param(min = 0.0)]
    gamma: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn gamma() -> f64 {
    0.1
}

impl Component<Horizon, dyn LrSchedule> for MultiStepLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "MultiStepLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let milestones = in_order("milestones", &self.milestones, total).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, move |base, step| stairs(base, self.gamma, &milestones, step)))
    }
}

impl Component<Horizon, dyn LrSchedule> for MultiStepWarmupLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "MultiStepWarmupLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let milestones = in_order("milestones", &self.milestones, total).map_err(Self::refuse)?;
        let then = move |rise, _| {
            let shifted = milestones.iter().filter_map(|step| step.checked_sub(rise));
            let shifted: Vec<u64> = shifted.collect();
            move |base, step| stairs(base, self.gamma, &shifted, step)
        };
        let rate = self.rise.before(total, Divisor::Next, then).map_err(Self::refuse)?;
        Ok(rule(self.by_epoch, rate))
    }
}
