//! `CosineAnnealingLR`: half a cosine down; ColossalAI's over the run, PyTorch's over `t_max`.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::shape::{cosine, real, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Falls along half a cosine to `eta_min` at the end of the run.
///
/// `eta_min + (base - eta_min) (1 + cos(π t / T)) / 2`. With `t_max`, that is `T`, and the rate goes up and down again
/// past it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CosineAnnealingLr {
    /// The rate at the end.
    #[serde(default)]
    #[param(min = 0.0)]
    eta_min: f64,
    /// Steps from top to bottom; the whole run unless it is written.
    #[param(min = 1)]
    t_max: Option<u64>,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for CosineAnnealingLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "CosineAnnealingLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        Ok(rule(self.by_epoch, move |base, step| {
            let done = self.t_max.map_or_else(|| share(step, total), |t| real(step) / real(t));
            cosine(base, self.eta_min, done)
        }))
    }
}
