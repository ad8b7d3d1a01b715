//! `hookrack eval`: the test points over the test data, with a checkpoint's weights.

use super::ConfigSource;
use super::exit::{Failure, code_of};
use crate::run::checkpoint;
use crate::train::{Interrupt, Parts, Resume, Trainer};
use crate::writers::{Console, Writers};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Evaluate a checkpoint on [data.test] and print its metrics
#[derive(Args)]
#[command(after_help = "\
Examples:
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart/checkpoints/iter_0000230")]
pub(super) struct EvalArgs {
    #[command(flatten)]
    source: ConfigSource,

    /// A checkpoint, or a run directory for its latest
    #[arg(long, value_name = "PATH")]
    checkpoint: PathBuf,
}

pub(super) fn run(args: &EvalArgs) -> Result<ExitCode, Failure> {
    let job = args.source.job()?;
    if job.config.data.test.is_none() {
        let help = "add a [data.test] section, or give one by -s, such as -s data.test.type=Digits";
        return Err(job.config.refuse("data", "there is no test data to evaluate on", help).into());
    }
    let parts = Parts::build(&job.config)?;
    let mut writers = Writers::default();
    writers.add(Console::new());
    let interrupt = Interrupt::listen().map_err(Failure::usage)?;
    let mut trainer = Trainer::assemble(parts, &job, writers, None, interrupt)?;
    let (_, checkpoint) = checkpoint::open(&args.checkpoint)?;
    trainer.resume_from(Resume { checkpoint, force: false });
    let ending = trainer.test();
    code_of(ending)
}
