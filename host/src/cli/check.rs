//! `hookrack check`: everything that can be wrong before training, without training.

use super::ConfigSource;
use super::exit::Failure;
use crate::plugins::crash::CrashWatch;
use crate::run::RunDir;
use crate::train::{Grid, Interrupt, Parts, Stages, Trainer};
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

pub(super) fn run(args: &CheckArgs, crash: &CrashWatch) -> Result<ExitCode, Failure> {
    let job = args.source.job()?;
    crash.report();
    super::plan::warn_of_stale_reads(&job);
    let grid = Grid::planned(&job.config, None)?;
    let mut parts = Parts::build(&job.config)?;
    let weights = parts.load_weights(&job.config)?;
    Stages::check(&job.config, parts.loaders.train.spec(), grid)?;
    if grid.stages > 1 {
        let stages = Stages::new(&job.config, &mut parts.engine, grid.data)?;
        stages.warn_of_norms(parts.engine.model().info());
    }
    // Hooks may write files when they are attached; they are not kept.
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::could_not_write(&std::env::temp_dir(), &error))?;
    let run = Some(RunDir::at(folder.path())?);
    let mut trainer =
        Trainer::assemble(parts, &job, Writers::default(), run, Interrupt::default())?;
    let failures = trainer.try_attaching();
    if !failures.is_empty() {
        let failures = failures.iter().map(|error| (error.hook.clone(), error.to_string()));
        return Err(job.config.not_attached(failures).into());
    }
    let engine = trainer.context().engine.borrow();
    let numbers: usize = engine.params().iter().map(|param| param.tensor.numel()).sum();
    say!(
        "{} is valid: {} with {numbers} parameters, {} hooks and metrics",
        args.source.config.display(),
        job.config.model.name,
        job.members.len(),
    );
    if let Some(report) = weights {
        say!("weights: {report}");
    }
    Ok(ExitCode::SUCCESS)
}
