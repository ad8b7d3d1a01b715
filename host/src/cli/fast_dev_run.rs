//! `hookrack train --fast-dev-run`: a few batches of everything, to see that a run would work; leaves no files.

use super::ConfigSource;
use super::exit::Failure;
use super::resume::{RunDirArgs, RunToStart, Search};
use crate::hooks::CallbackHook;
use crate::job::{Job, JobError};
use crate::provenance::provenance;
use crate::ranks::Ranks;
use crate::run::checkpoint::Provenance;
use crate::train::{Parts, Trainer};
use crate::world::World;
use clap::Args;
use hookrack_plugin_api::every::Every;
use hookrack_plugin_api::{Level, Point};
use serde_json::json;

/// How much of a run to try; by default all of it.
#[derive(Args, Clone, Copy)]
pub(super) struct FastDevRun {
    /// Run one epoch of N batches (default 1) of train and val, with all hooks; write no checkpoint and keep no run directory
    #[arg(
        long = "fast-dev-run",
        value_name = "N",
        num_args = 0..=1,
        default_missing_value = "1",
        value_parser = batches,
        conflicts_with_all = ["resume", "run_dir", "until", "save_at"],
    )]
    batches: Option<u64>,
}

fn batches(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(batches) => Ok(batches),
        Err(_) => Err("not a number of batches; put the config before --fast-dev-run".to_owned()),
    }
}

impl FastDevRun {
    /// Whether this is a trial run.
    pub(super) fn is_on(self) -> bool {
        self.batches.is_some()
    }

    /// Reads the config.
    pub(super) fn job(self, source: &ConfigSource) -> Result<Job, Failure> {
        let mut job = source.job()?;
        if self.is_on() {
            // A hook that runs every 100 iterations would not run at all.
            for member in &mut job.members {
                member.spec.when.every = Every::Always;
            }
            // Regardless of the validation period; ignored without validation data.
            let hook = CallbackHook::new("--fast-dev-run")
                .level(Level::LOWEST)
                .at(Point::AfterTrainEpoch, hookrack_plugin_api::Trainer::request_validation);
            job.add(hook).map_err(JobError::from)?;
        }
        Ok(job)
    }

    /// Reads the data and builds the model.
    pub(super) fn parts(
        self,
        job: &Job,
        ranks: &Ranks,
        world: Option<&World>,
    ) -> Result<Parts, Failure> {
        let mut parts = Parts::build_on(&job.config, ranks, world)?;
        if let Some(batches) = self.batches {
            parts.shorten(&job.config, batches);
        }
        Ok(parts)
    }

    /// What the run starts from.
    pub(super) fn find(
        self,
        run_dir: &RunDirArgs,
        job: &Job,
        parts: &Parts,
    ) -> Result<Search, Failure> {
        if self.is_on() {
            return Ok(RunToStart::temporary().into());
        }
        let samples = Some(parts.loaders.samples());
        run_dir.find(&job.config, &Provenance { samples, ..provenance(job) })
    }

    /// Keeps the trainer from writing checkpoints.
    pub(super) fn disable_checkpoints(self, trainer: &mut Trainer) {
        if self.is_on() {
            trainer.keep_no_checkpoints();
        }
    }

    /// Prints that this is a trial run; returns false if it is not.
    pub(super) fn print_notice(self, json: bool) -> bool {
        let Some(batches) = self.batches else { return false };
        if json {
            say!("{}", json!({ "fast_dev_run": batches }));
        } else {
            let es = if batches == 1 { "" } else { "es" };
            say!(
                "fast dev run: 1 epoch of {batches} batch{es} of train and val; no checkpoints, no run directory"
            );
        }
        true
    }
}
