//! `ExponentialLR`: times `gamma` at each step; PyTorch's formula, ColossalAI's default.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::shape::decayed;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Multiplies the rate by `gamma` at each step: `base gamma^t`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExponentialLr {
    /// The factor.
    #[serde(default = "gamma")]
    #[param(min = 0.0)]
    gamma: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn gamma() -> f64 {
    1.0
}

impl Component<Horizon, dyn LrSchedule> for ExponentialLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "ExponentialLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(rule(self.by_epoch, move |base, step| decayed(base, self.gamma, step)))
    }
}
