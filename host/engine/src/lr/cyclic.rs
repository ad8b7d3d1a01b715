//! `CyclicLR`: up and down between two rates; PyTorch's formula.

use hookrack_plugin_api::prelude::Settings;

use super::shape::{decayed, line, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Cycles between `base_lr` and `base`; the momentum moves the other way.
///
/// PyTorch's `max_lr` is the rate of each parameter group. The momentum, or Adam's first beta, is cycled inversely
/// between `max_momentum` and `base_momentum`; an optimizer without one is not affected.
#[derive(Debug, Clone, Settings)]
pub(super) struct CyclicLr {
    /// Lower bound of the rate.
    #[param(min = 0.0)]
    base_lr: f64,
    /// Steps of the increasing half of a cycle.
    #[param(default = 2000, min = 1)]
    step_size_up: u64,
    /// Steps of the decreasing half. Default: `step_size_up`.
    #[param(min = 1)]
    step_size_down: Option<u64>,
    /// Scaling of the cycles: constant, halved after each cycle, or times `gamma` at each step.
    #[param(default)]
    mode: CycleShape,
    /// Factor of `exp_range`.
    #[param(default = 1.0, min = 0.0)]
    gamma: f64,
    /// Cycle the momentum too, inversely to the rate.
    #[param(default = true)]
    cycle_momentum: bool,
    /// Momentum at the upper rate.
    #[param(default = 0.8, min = 0.0, max = 1.0)]
    base_momentum: f64,
    /// Momentum at the lower rate.
    #[param(default = 0.9, min = 0.0, max = 1.0)]
    max_momentum: f64,
    /// Count epochs as steps, not iterations.
    #[param(default)]
    by_epoch: bool,
}

/// How the height of a cycle is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
enum CycleShape {
    #[default]
    Triangular,
    Triangular2,
    ExpRange,
}

impl Component<Horizon, dyn LrSchedule> for CyclicLr {
    const NAME: &'static str = "CyclicLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(Box::new(self))
    }
}

impl LrSchedule for CyclicLr {
    fn lr(&self, top: f64, step: u64) -> f64 {
        line(self.base_lr, top, self.height(step))
    }

    fn by_epoch(&self) -> bool {
        self.by_epoch
    }

    fn momentum(&self, step: u64) -> Option<f64> {
        let (low, high) = (self.base_momentum, self.max_momentum);
        self.cycle_momentum.then(|| line(high, low, self.height(step)))
    }
}

impl CyclicLr {
    /// How far up a step is: 0 at the lower rate, 1 at the upper.
    fn height(&self, step: u64) -> f64 {
        let (up, down) = (self.step_size_up, self.step_size_down.unwrap_or(self.step_size_up));
        let (cycle, within) = (step / (up + down), step % (up + down));
        let height = if within <= up { share(within, up) } else { 1.0 - share(within - up, down) };
        let scale = match self.mode {
            CycleShape::Triangular => 1.0,
            CycleShape::Triangular2 => decayed(1.0, 0.5, cycle),
            CycleShape::ExpRange => decayed(1.0, self.gamma, step),
        };
        height * scale
    }
}
