//! `BertWarmupLinearLR`: BERT's schedules over the completed fraction of the run; iMIX's formulas.

use hookrack_plugin_api::prelude::Settings;

use super::row::rule;
use super::shape::{cosine, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Linear warm-up over the fraction `warmup` of the run, then a line to 0, half a cosine, or constant.
///
/// With `x = t / T` the rate is `base x / warmup` for `x < warmup`, and after that `base (1 - x) / (1 - warmup)`,
/// `base (1 + cos(π x)) / 2` or `base`. Use 0 for no warm-up: iMIX's -1 halves the rate of the line by mistake.
#[derive(Debug, Clone, Settings)]
pub(super) struct BertWarmupLinearLr {
    /// Length of the warm-up as a fraction of the run.
    #[param(default, min = 0.0, max = 1.0, alias = "warmup_ratio")]
    warmup: f64,
    /// What follows the warm-up.
    #[param(default)]
    warmup_method: AfterWarmup,
    /// Count epochs as steps, not iterations.
    #[param(default)]
    by_epoch: bool,
}

/// What follows the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
#[expect(clippy::enum_variant_names, reason = "iMIX's names")]
enum AfterWarmup {
    #[default]
    WarmupLinear,
    WarmupCosine,
    WarmupConstant,
}

impl Component<Horizon, dyn LrSchedule> for BertWarmupLinearLr {
    const NAME: &'static str = "BertWarmupLinearLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = horizon.steps(self.by_epoch);
        Ok(rule(self.by_epoch, Box::new(move |base, step| base * self.factor(share(step, total)))))
    }
}

impl BertWarmupLinearLr {
    fn factor(&self, done: f64) -> f64 {
        if done < self.warmup {
            return done / self.warmup;
        }
        match self.warmup_method {
            AfterWarmup::WarmupLinear if self.warmup < 1.0 => (1.0 - done) / (1.0 - self.warmup),
            AfterWarmup::WarmupLinear | AfterWarmup::WarmupConstant => 1.0,
            AfterWarmup::WarmupCosine => cosine(1.0, 0.0, done),
        }
    }
}
