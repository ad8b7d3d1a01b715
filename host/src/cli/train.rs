//! `hookrack train`: from a config to a run directory.

use super::exit::{Failure, code_of};
use super::logging::LogFile;
use super::{ConfigSource, summary};
use crate::job::Job;
use crate::run::{Record, RunDir, RunDirError};
use crate::train::{Ending, Interrupt, Parts, Trainer};
use crate::writers::{Console, MetricsJson, RunFacts, Writers};
use clap::Args;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Train, and leave a run directory with the resolved config, scalars, log and checkpoints
#[derive(Args)]
#[command(after_help = "\
Examples:
  hookrack train configs/quickstart.toml
  hookrack train configs/quickstart.toml -s train.max_epochs=3 --run-dir /tmp/try
  hookrack train configs/quickstart.toml -s default_hooks.checkpoint=false --quiet")]
pub(super) struct TrainArgs {
    #[command(flatten)]
    source: ConfigSource,

    /// The folder for this run; else <run.dir>/<run.name>, with a number where that is taken
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &TrainArgs, log: &LogFile) -> Result<ExitCode, Failure> {
    let job = args.source.job()?;
    let parts = Parts::build(&job.config)?;
    let config = &job.config.run;
    if let Some(path) = args.run_dir.as_deref().filter(|path| RunDir::is_taken(path)) {
        let path = path.display();
        return Err(Failure::usage(format!(
            "{path} holds a run already: name another folder with --run-dir"
        )));
    }
    let run = match &args.run_dir {
        Some(path) => RunDir::at(path)?,
        None => RunDir::create(&config.dir, &config.name)?,
    };
    let log_path = run.path().join("log.txt");
    log.open(&log_path).map_err(RunDirError::io("open", &log_path))?;
    run.write("config.toml", job.config.to_toml().as_bytes())?;
    let mut record =
        Record::begin("train", &args.source.config.to_string_lossy(), &libraries(&job));
    record.write(&run)?;

    let facts = RunFacts { run_dir: Some(run.path().to_owned()), config: job.config.to_toml() };
    let mut writers = Writers::new(facts);
    if !args.quiet {
        say!("run directory: {}", run.path().display());
        writers.add(Console::new());
    }
    writers.add(MetricsJson::open(&run.path().join("metrics.json"))?);
    let interrupt = Interrupt::listen().map_err(Failure::usage)?;
    let mut trainer = match Trainer::assemble(parts, &job, writers, Some(run.clone()), interrupt) {
        Ok(trainer) => trainer,
        Err(error) => {
            record.end("failed", &error.to_string());
            record.write(&run)?;
            return Err(error.into());
        }
    };
    for line in super::plan::lines(&job) {
        tracing::info!("plan: {line}");
    }
    let ending = trainer.fit();
    finish(&trainer, &ending, &mut record, &run, args.quiet)?;
    code_of(ending)
}

/// Writes down how it went, and says so.
fn finish(
    trainer: &Trainer,
    ending: &Ending,
    record: &mut Record,
    run: &RunDir,
    quiet: bool,
) -> Result<(), Failure> {
    let (outcome, why) = ending.describe();
    record.end(outcome, &why);
    record.costs(&trainer.costs());
    let progress = trainer.context().progress.get();
    record.set("epoch", progress.epoch);
    record.set("iter", progress.iter);
    record.set("metrics", summary::metrics_json(trainer));
    let written = record.write(run);
    summary::log(trainer, ending);
    if !quiet {
        summary::print(trainer, ending, run);
    }
    Ok(written?)
}

/// The libraries that the run uses, for its record.
fn libraries(job: &Job) -> Vec<Json> {
    let used = |library: &&std::sync::Arc<crate::plugins::Library>| {
        job.members
            .iter()
            .any(|member| member.seat.library.as_deref() == Some(library.path.as_path()))
    };
    let describe = |library: &std::sync::Arc<crate::plugins::Library>| {
        json!({
            "path": library.path,
            "sha256": library.sha256,
            "name": library.name,
            "version": library.version,
            "abi": format!("{}.{}", library.abi.0, library.abi.1),
        })
    };
    job.inventory.shelf.libraries.iter().filter(used).map(describe).collect()
}
