//! `hookrack check`: everything that can be wrong before training, without training.

use super::ConfigSource;
use super::exit::Failure;
use crate::train::{Interrupt, Parts, Trainer};
use crate::writers::Writers;
use clap::Args;
use std::process::ExitCode;

/// Check a config without training: load its plugins, build model and data, create every hook
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack check configs/quickstart.toml
  hookrack check configs/quickstart.toml -s custom_hooks.0.momentum=2"))]
pub(super) struct CheckArgs {
    #[command(flatten)]
    source: ConfigSource,
}

pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let job = args.source.job()?;
    super::plan::warn_of_stale_reads(&job);
    let mut parts = Parts::build(&job.config)?;
    let weights = parts.load_weights(&job.config)?;
    let trainer = Trainer::assemble(parts, &job, Writers::default(), None, Interrupt::default())?;
    let engine = trainer.context().engine.borrow();
    let numbers: usize = engine.params().iter().map(|param| param.tensor.numel()).sum();
    say!(
        "{} is fine: {} with {numbers} parameters, {} hooks and metrics",
        args.source.config.display(),
        job.config.model.type_name,
        job.members.len(),
    );
    if let Some(report) = weights {
        say!("weights: {report}");
    }
    Ok(ExitCode::SUCCESS)
}
