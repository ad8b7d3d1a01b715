//! Learning rate schedules: from a step's number to the rate.

mod constant;
mod cosine_annealing_warmup;

pub use constant::ConstantLr;
pub use cosine_annealing_warmup::CosineAnnealingWarmupLr;

use super::registry::Entry;

/// How long the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Iterations of the whole run.
    pub iters: u64,
    /// Epochs of the whole run, the last one begun counted whole.
    pub epochs: u64,
}

impl Horizon {
    /// The steps that a schedule makes.
    pub fn steps(self, by_epoch: bool) -> u64 {
        if by_epoch { self.epochs } else { self.iters }
    }
}

/// A schedule. A pure function of the step, so that a resumed run needs nothing but the step's number.
pub trait LrSchedule: Send {
    /// The rate for step `step`, which begins at 0, of a group whose own rate is `base`.
    fn lr(&self, base: f64, step: u64) -> f64;

    /// Whether a step is an epoch; else it is an iteration.
    fn by_epoch(&self) -> bool;
}

/// Every schedule that a config can name.
pub static LR_SCHEDULES: &[Entry<Horizon, dyn LrSchedule>] =
    &[Entry::of::<ConstantLr>(), Entry::of::<CosineAnnealingWarmupLr>()];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::registry::Choice;

    #[test]
    fn a_schedule_by_epoch_counts_epochs() {
        let settings = [("by_epoch", true.into()), ("warmup_steps", 1_i64.into())];
        let horizon = Horizon { iters: 1000, epochs: 3 };
        let schedule = Choice::new("CosineAnnealingWarmupLR", &settings)
            .build("lr scheduler", LR_SCHEDULES, &horizon)
            .unwrap();
        assert!(schedule.by_epoch());
        assert!(schedule.lr(1.0, 3).abs() < 1e-12);
    }
}
