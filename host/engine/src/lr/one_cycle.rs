//! `OneCycleLR`: up once and down once, to far below the start, with inverse momentum; PyTorch's formula, ColossalAI's top.

use hookrack_plugin_api::prelude::Settings;

use super::shape::{cosine, line, real};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Up from `base / div_factor` to `base`, then down to `base / div_factor / final_div_factor`; the momentum moves the
/// other way.
///
/// The top is the rate of each parameter group. The momentum, or Adam's first beta, is cycled inversely between
/// `max_momentum` and `base_momentum`; an optimizer without one is not affected.
#[derive(Debug, Clone, Settings)]
pub(super) struct OneCycleLr {
    /// Fraction of the run in which the rate increases.
    #[param(default = 0.3, min = 0.0, max = 1.0)]
    pct_start: f64,
    /// Annealing strategy: cosine or linear.
    #[param(default)]
    anneal_strategy: Anneal,
    /// Ratio of the maximum rate to the initial rate.
    #[param(default = 25.0, min = 1.0)]
    div_factor: f64,
    /// Ratio of the initial rate to the final rate.
    #[param(default = 1e4, min = 1.0)]
    final_div_factor: f64,
    /// Return to the initial rate as fast as it rose, then go down to the final one.
    #[param(default)]
    three_phase: bool,
    /// Cycle the momentum too, inversely to the rate.
    #[param(default = true)]
    cycle_momentum: bool,
    /// Momentum at the maximum rate.
    #[param(default = 0.85, min = 0.0, max = 1.0)]
    base_momentum: f64,
    /// Momentum at both ends.
    #[param(default = 0.95, min = 0.0, max = 1.0)]
    max_momentum: f64,
    /// Count epochs as steps, not iterations.
    #[param(default)]
    by_epoch: bool,
}

/// Annealing strategy: cosine or linear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
enum Anneal {
    #[default]
    Cos,
    Linear,
}

impl Component<Horizon, dyn LrSchedule> for OneCycleLr {
    const NAME: &'static str = "OneCycleLR";

    fn build(self, horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        let total = real(horizon.steps(self.by_epoch));
        Ok(Box::new(OneCycle { form: self, total }))
    }
}

/// The schedule itself: its form, and how many steps it has.
struct OneCycle {
    form: OneCycleLr,
    total: f64,
}

impl LrSchedule for OneCycle {
    fn lr(&self, top: f64, step: u64) -> f64 {
        let first = top / self.form.div_factor;
        let last = first / self.form.final_div_factor;
        self.form.at(step, self.total, [first, top, last])
    }

    fn by_epoch(&self) -> bool {
        self.form.by_epoch
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        let OneCycleLr { cycle_momentum, base_momentum, max_momentum, .. } = self.form;
        let ends = [max_momentum, base_momentum, max_momentum];
        cycle_momentum.then(|| self.form.at(step, self.total, ends))
    }
}

impl OneCycleLr {
    /// A value at a step, on its way from the first value to the top and to the last one.
    fn at(&self, step: u64, total: f64, [first, top, last]: [f64; 3]) -> f64 {
        let step = real(step);
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

    /// Interpolates between two rates at a step between two others.
    fn way(&self, from: f64, to: f64, (step, begin, end): (f64, f64, f64)) -> f64 {
        let done = if end > begin { ((step - begin) / (end - begin)).min(1.0) } else { 1.0 };
        match self.anneal_strategy {
            Anneal::Cos => cosine(from, to, done),
            Anneal::Linear => line(from, to, done),
        }
    }
}
