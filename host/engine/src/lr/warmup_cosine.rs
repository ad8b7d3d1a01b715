//! `WarmupCosineLR` and `WarmupCosineAnnealingLR`: a rise over half a cosine that begins at step 0; LiBai's formulas.

use hookrack_plugin_api::prelude::Deserialize;

use super::rise::Rise;
use super::rule::rule;
use super::shape::{cosine, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Rises into half a cosine that falls to `alpha` times the rate at the end of the run.
///
/// `base ((1 - alpha) (1 + cos(π t / T)) / 2 + alpha)` from `warmup_iter` on; the rise goes to the value there, and the
/// cosine is not shifted. iMIX's scheduler of this name is `warmup_method = "scaled_linear"` or `"scaled_constant"`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupCosineLr {
    /// The share of the rate that is left at the end.
    #[serde(default)]
    #[param(min = 0.0, max = 1.0)]
    alpha: f64,
    #[serde(flatten)]
    rise: Rise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Rises into half a cosine that falls to `eta_min` at the end of the run.
///
/// `eta_min + (base - eta_min) (1 + cos(π t / T)) / 2` from `warmup_iter` on; the rise goes to the value there.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WarmupCosineAnnealingLr {
    /// The rate at the end.
    #[serde(default)]
    #[param(min = 0.0)]
    eta_min: f64,
    #[serde(flatten)]
    rise: Rise,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

impl Component<Horizon, dyn LrSchedule> for WarmupCosineLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupCosineLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let rise = self.rise.within(total).map_err(Self::refuse)?;
        Ok(rule(
            self.by_epoch,
            rise.over(move |base, step| cosine(base, self.alpha * base, share(step, total))),
        ))
    }
}

impl Component<Horizon, dyn LrSchedule> for WarmupCosineAnnealingLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "WarmupCosineAnnealingLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        let rise = self.rise.within(total).map_err(Self::refuse)?;
        Ok(rule(
            self.by_epoch,
            rise.over(move |base, step| cosine(base, self.eta_min, share(step, total))),
        ))
    }
}
