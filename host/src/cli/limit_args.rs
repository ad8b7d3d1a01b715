//! `--until` and `--save-at`: where a run stops and saves besides what its config says.

use super::exit::Failure;
use crate::engine::lr::Horizon;
use crate::job::Job;
use crate::train::Limits;
use clap::{Args, value_parser};

/// Iterations at which a run stops or saves.
#[derive(Args)]
pub(super) struct LimitArgs {
    /// Stop after this iteration and save a checkpoint; schedules still span the configured length
    #[arg(long, value_name = "ITER", value_parser = value_parser!(u64).range(1..))]
    until: Option<u64>,

    /// Write an additional checkpoint after this iteration
    #[arg(long, value_name = "ITER", value_parser = value_parser!(u64).range(1..))]
    save_at: Option<u64>,

    /// Wait to be killed once that checkpoint is on disk
    #[arg(long, hide = true)]
    wait_after_save: bool,
}

impl LimitArgs {
    /// Where to stop and where to save.
    pub(super) fn of(&self, job: &Job) -> Limits {
        let limits = Limits::new(job.config.train.max_time, self.until, self.save_at);
        limits.waiting(self.wait_after_save)
    }

    /// Refuses a checkpoint that the run would never reach.
    pub(super) fn check(&self, horizon: Horizon) -> Result<(), Failure> {
        let last = self.until.map_or(horizon.iters, |until| until.min(horizon.iters));
        match self.save_at.filter(|at| *at > last) {
            None => Ok(()),
            Some(at) => Err(Failure::usage(format!(
                "--save-at {at} is after the last iteration of the run, which is {last}: choose one up to {last}"
            ))),
        }
    }
}
