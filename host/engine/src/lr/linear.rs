//! `LinearLR`: a straight line between two factors; PyTorch's formula.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::shape::{line, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Goes in a straight line from `start_factor` to `end_factor` times the rate, and stays there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinearLr {
    /// The factor at the first step.
    #[serde(default = "start_factor")]
    #[param(min = 0.0)]
    start_factor: f64,
    /// The factor from `total_iters` on.
    #[serde(default = "end_factor")]
    #[param(min = 0.0)]
    end_factor: f64,
    /// Steps of the line.
    #[serde(default = "total_iters")]
    total_iters: u64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn start_factor() -> f64 {
    1.0 / 3.0
}

fn end_factor() -> f64 {
    1.0
}

fn total_iters() -> u64 {
    5
}

impl Component<Horizon, dyn LrSchedule> for LinearLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "LinearLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(rule(self.by_epoch, move |base, step| {
            let done = if self.total_iters == 0 { 1.0 } else { share(step, self.total_iters) };
            base * line(self.start_factor, self.end_factor, done)
        }))
    }
}
