//! `OneCycleLR`: up once, down once, far below the start; PyTorch's formula, ColossalAI's top.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::shape::{cosine, line, real};
use super::{Horizon, LrSchedule};
use crate::engine::error::Result;
use crate::engine::registry::Component;

/// Rises from the rate divided by `div_factor` to the rate, then falls to a tiny one at the end of the run.
///
/// The top is the rate of each parameter group. The momentum is left alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneCycleLr {
    /// The share of the run that the rise takes.
    #[serde(default = "pct_start")]
    #[param(min = 0.0, max = 1.0)]
    pct_start: f64,
    /// The form of rise and fall.
    #[serde(default)]
    anneal_strategy: Anneal,
    /// The top divided by the first rate.
    #[serde(default = "div_factor")]
    #[param(min = 1.0)]
    div_factor: f64,
    /// The first rate divided by the last.
    #[serde(default = "final_div_factor")]
    #[param(min = 1.0)]
    final_div_factor: f64,
    /// Fall to the first rate as fast as it rose, then to the last one.
    #[serde(default)]
    three_phase: bool,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// The form of rise and fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Anneal {
    #[default]
    Cos,
    Linear,
}

fn pct_start() -> f64 {
    0.3
}

fn div_factor() -> f64 {
    25.0
}

fn final_div_factor() -> f64 {
    1e4
}

impl Component<Horizon, dyn LrSchedule> for OneCycleLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "OneCycleLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = real(horizon.steps(self.by_epoch));
        Ok(rule(self.by_epoch, move |top, step| self.rate(total, top, real(step))))
    }
}

impl OneCycleLr {
    fn rate(&self, total: f64, top: f64, step: f64) -> f64 {
        let first = top / self.div_factor;
        let last = first / self.final_div_factor;
        let peak = self.pct_start * total - 1.0;
        let (back, end) = (2.0 * peak, total - 1.0);
        if step <= peak {
            return self.way(first, top, (step, 0.0, peak));
        }
        match self.three_phase {
            true if step <= back => self.way(top, first, (step, peak, back)),
            true => self.way(first, last, (step, back, end)),
            false => self.way(top, last, (step, peak, end)),
        }
    }

    /// Where between two rates a step is that lies between two others.
    fn way(&self, from: f64, to: f64, (step, begin, end): (f64, f64, f64)) -> f64 {
        let done = if end > begin { ((step - begin) / (end - begin)).min(1.0) } else { 1.0 };
        match self.anneal_strategy {
            Anneal::Cos => cosine(from, to, done),
            Anneal::Linear => line(from, to, done),
        }
    }
}
