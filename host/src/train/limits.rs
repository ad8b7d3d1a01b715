//! Limits on a run that are known before it starts: time and iterations.

use super::fit::{Result, Trainer};
use std::time::{Duration, Instant};

/// How often a run that waits looks for signals.
const TICK: Duration = Duration::from_millis(10);

/// When a run saves and stops before it is complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    deadline: Option<(Instant, Duration)>,
    until: Option<u64>,
    save_at: Option<u64>,
    waits: bool,
}

impl Limits {
    /// Stops after this many seconds (0 for never) or after an iteration; `save_at` requests an additional checkpoint.
    pub fn new(seconds: f64, until: Option<u64>, save_at: Option<u64>) -> Self {
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        let deadline = time.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
        Self { deadline, until, save_at, waits: false }
    }

    /// Whether the run waits to be killed once the checkpoint of `save_at` is on disk.
    #[must_use]
    pub fn waiting(self, waits: bool) -> Self {
        Self { waits, ..self }
    }
}

impl Trainer {
    /// Sets the limits of the run that is about to start.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Requests a stop if a limit is reached. Reads the clock only if there is a deadline.
    pub(super) fn check_limits(&self) {
        let iter = self.context.progress.get().iter;
        let Limits { deadline, until, .. } = self.limits;
        let mut requests = self.context.requests.borrow_mut();
        // Clocks differ: that of rank 0 is used, and the others learn of it at the next agreement.
        let is_clock = self.context.progress.get().rank == 0;
        if let Some((deadline, time)) = deadline.filter(|_| is_clock)
            && Instant::now() >= deadline
        {
            requests.stop(
                "train.max_time",
                &format!("the limit of {} s is reached", time.as_secs_f64()),
            );
        }
        if until.is_some_and(|until| iter >= until) {
            requests.stop("--until", &format!("iteration {iter} is reached"));
        }
    }

    /// Requests the checkpoint of `--save-at`.
    pub(super) fn check_save_at(&self) {
        if self.limits.save_at == Some(self.context.progress.get().iter) {
            self.context.requests.borrow_mut().save("--save-at");
        }
    }

    /// Waits to be killed if the checkpoint of `--save-at` was the last of this run; a signal ends the wait.
    pub(super) fn wait_if_requested(&mut self) -> Result<()> {
        let Limits { save_at, waits, .. } = self.limits;
        if waits && save_at == Some(self.context.progress.get().iter) {
            self.finish_saving(Ok(()))?;
            while self.interrupt.received().is_none() {
                std::thread::sleep(TICK);
            }
        }
        Ok(())
    }
}
