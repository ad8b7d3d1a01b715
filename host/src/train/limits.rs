//! Ends of a run that are known before it begins: so much time, so many iterations.

use super::fit::Trainer;
use std::time::{Duration, Instant};

/// When a run saves and ends although it is not complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    deadline: Option<(Instant, Duration)>,
    until: Option<u64>,
    save_at: Option<u64>,
}

impl Limits {
    /// After so many seconds from now on (0 for never) or after an iteration; `save_at` asks for one more checkpoint.
    pub fn new(seconds: f64, until: Option<u64>, save_at: Option<u64>) -> Self {
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        let deadline = time.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
        Self { deadline, until, save_at }
    }
}

impl Trainer {
    /// Sets the limits of the run that is about to begin.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Asks for an end where a limit is reached. Looks at the clock only where there is a deadline.
    pub(super) fn heed_limits(&self) {
        let iter = self.context.progress.get().iter;
        let Limits { deadline, until, .. } = self.limits;
        let mut requests = self.context.requests.borrow_mut();
        if let Some((deadline, time)) = deadline
            && Instant::now() >= deadline
        {
            requests.stop("train.max_time", &format!("{} s are over", time.as_secs_f64()));
        }
        if until.is_some_and(|until| iter >= until) {
            requests.stop("--until", &format!("iteration {iter} is done"));
        }
    }

    /// Asks for the checkpoint that the command line wants.
    pub(super) fn heed_save_at(&self) {
        if self.limits.save_at == Some(self.context.progress.get().iter) {
            self.context.requests.borrow_mut().save("--save-at");
        }
    }
}
