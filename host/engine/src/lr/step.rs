//! `StepLR`: an even stair; PyTorch's formula, ColossalAI's defaults.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::shape::decayed;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Multiplies the rate by `gamma` every `step_size` steps: `base gamma^⌊t / step_size⌋`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepLr {
    /// Steps between two falls.
    #[serde(default = "step_size")]
    #[param(min = 1)]
    step_size: u64,
    /// The factor.
    #[serde(default = "gamma")]
    #[param(min = 0.0)]
    gamma: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn step_size() -> u64 {
    1
}

fn gamma() -> f64 {
    0.1
}

impl Component<Horizon, dyn LrSchedule> for StepLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "StepLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(rule(self.by_epoch, move |base, step| decayed(base, self.gamma, step / self.step_size)))
    }
}
