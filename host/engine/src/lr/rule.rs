//! A schedule that is a function of the step and nothing else.

use super::LrSchedule;

struct Rule<F> {
    by_epoch: bool,
    rate: F,
}

impl<F: Fn(f64, u64) -> f64 + Send> LrSchedule for Rule<F> {
    fn lr(&self, base: f64, step: u64) -> f64 {
        (self.rate)(base, step)
    }

    fn by_epoch(&self) -> bool {
        self.by_epoch
    }
}

/// The schedule whose rate at a step is `rate(base, step)`.
pub(super) fn rule(
    by_epoch: bool,
    rate: impl Fn(f64, u64) -> f64 + Send + 'static,
) -> Box<dyn LrSchedule> {
    Box::new(Rule { by_epoch, rate })
}
