//! `hookrack train`: from a config to a run directory.

use super::exit::{Failure, code_in};
use super::fast_dev_run::FastDevRun;
use super::limit_args::LimitArgs;
use super::logging::LogFile;
use super::requeue::requeue;
use super::resume::{RunDirArgs, Search, Start};
use super::state_dump_file::StateDumpFile;
use super::{ConfigSource, ranks, schedule_drawing, start_lines, summary, supervise};
use crate::dispatch::HookCost;
use crate::first_failure::first_failure;
use crate::job::Job;
use crate::plugins::crash::{self, CrashWatch};
use crate::provenance::libraries;
use crate::ranks::Ranks;
use crate::report;
use crate::run::{Record, RunDir, RunDirError, atomic, checkpoint};
use crate::stdio;
use crate::torch::kernels;
use crate::train::{Ending, Grid, Interrupt, Parts, Resume, Trainer, Watchdog, WhenStarted};
use crate::world::World;
use crate::writers::{
    Console, JsonLines, MetricsJson, RunFacts, Writers, leave_interrupted, leave_terminal,
};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

/// Train a model; checkpoints, metrics and logs go to a run directory
#[derive(Args)]
#[command(override_usage = "hookrack train [OPTIONS] <CONFIG>", after_help = help!("\
Examples:
  hookrack train configs/quickstart.toml
  hookrack train configs/quickstart.toml -s train.max_epochs=3 --run-dir /tmp/try
  hookrack train configs/quickstart.toml -s default_hooks.checkpoint=false --quiet
  hookrack train configs/quickstart.toml --fast-dev-run     try one batch of train and val
  hookrack train configs/quickstart.toml --resume           start, or resume after an interruption
  hookrack train configs/quickstart.toml --supervise 5      restart after a crash, up to 5 times
  hookrack train configs/quickstart.toml --resume runs/quickstart/checkpoints/iter_0000460"))]
pub(super) struct TrainArgs {
    /// The config file
    // Optional for clap alone: `--resume CONFIG` takes it for the checkpoint.
    config: Option<PathBuf>,

    /// Override a value of the config, such as train.max_epochs=3 (repeatable)
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    #[command(flatten)]
    pub(super) run_dir: RunDirArgs,

    #[command(flatten)]
    fast: FastDevRun,

    #[command(flatten)]
    pub(super) limits: LimitArgs,

    /// Train in a child process and restart it from its last checkpoint after a crash, at most N times (default 3); a hook that crashed twice is
    /// removed unless its on_error is "abort"
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        default_missing_value = "3",
        value_parser = supervise::restarts,
        conflicts_with = "batches"
    )]
    supervise: Option<u32>,

    /// Train without this hook, which has crashed (repeatable)
    #[arg(long, value_name = "NAME", hide = true)]
    leave_out: Vec<String>,

    /// Write the state of hooks after an iteration and in the last checkpoint to a file: `ITER:FILE`
    #[arg(long, hide = true, value_parser = StateDumpFile::parse)]
    held: Option<StateDumpFile>,

    /// Do not print progress or the summary
    #[arg(short, long)]
    quiet: bool,

    /// Print progress and the summary, and log lines on standard error, as JSON, one object per line
    #[arg(long, conflicts_with = "quiet")]
    pub(super) json: bool,
}

pub(super) fn run(mut args: TrainArgs, files: Files<'_>) -> Result<ExitCode, Failure> {
    if let Some(restarts) = args.supervise {
        return supervise::run(restarts);
    }
    let ranks = Ranks::from_env().map_err(Failure::usage)?;
    let source = source(&mut args)?;
    if !args.fast.is_on() {
        args.run_dir.apply_launcher(&ranks)?;
    }
    train(&source, &args, &ranks, files)
}

/// Checks the config of a run that others will train.
pub(super) fn check(args: &mut TrainArgs) -> Result<Job, Failure> {
    // The ranks print them.
    let is_quiet = std::mem::replace(&mut args.quiet, true);
    let source = source(args);
    args.quiet = is_quiet;
    source?.job()
}

/// The folder of a run that others will train, if it is a new one without a given name.
pub(super) fn reserve(args: &TrainArgs, job: &Job) -> Result<Option<RunDir>, Failure> {
    if args.fast.is_on() { Ok(None) } else { args.run_dir.reserve(&job.config) }
}

/// The config, also if `--resume` parsed it as the checkpoint.
fn source(args: &mut TrainArgs) -> Result<ConfigSource, Failure> {
    let set = args.set.clone();
    if let Some(config) = args.config.take() {
        return Ok(ConfigSource { config, set });
    }
    let config = args.run_dir.config_after_resume().map_err(Failure::usage)?;
    if !(args.quiet || args.json) {
        say!("{} is the config; resuming from the newest checkpoint of its run", config.display());
    }
    Ok(ConfigSource { config, set })
}

/// The log, and the report of a crash: each is given its file once the run directory is known.
pub(super) type Files<'a> = (&'a LogFile, &'a CrashWatch);

/// Watches for hooks that do not return.
pub(super) fn watchdog(job: &Job, interrupt: &Interrupt) -> Watchdog {
    let limit = Duration::from_secs_f64(job.config.train.hang_seconds);
    Watchdog::start(limit, interrupt.clone(), leave_terminal)
}

fn train(
    source: &ConfigSource,
    args: &TrainArgs,
    ranks: &Ranks,
    files: Files<'_>,
) -> Result<ExitCode, Failure> {
    let mut job = args.fast.job(source)?;
    job.leave_out(&args.leave_out).map_err(Failure::usage)?;
    let (world, parts) = if Grid::new(&job.config, ranks.world)?.stages > 1 {
        // Its stages may have to agree on how they divide the model.
        let world = ranks::connect_ranks(ranks, &job)?;
        let parts = args.fast.parts(&job, ranks, world.as_deref());
        let parts = parts.inspect_err(|failure| {
            if let Some(world) = &world {
                ranks::report_failure(world, failure);
            }
        })?;
        (world, parts)
    } else {
        // What is wrong with the config is found without waiting for the others.
        let parts = args.fast.parts(&job, ranks, None)?;
        (ranks::connect_ranks(ranks, &job)?, parts)
    };
    // The same on all ranks.
    args.limits.check(parts.horizon)?;
    match &world {
        Some(world) => {
            let trained = if ranks.is_main() {
                train_as_main(source, args, files, (job, parts), Some(world))
            } else {
                ranks::train_as_worker(world, job, parts, args, files)
            };
            trained.inspect_err(|failure| ranks::report_failure(world, failure))
        }
        None => train_as_main(source, args, files, (job, parts), None),
    }
}

/// Trains in a run directory: alone, or as rank 0.
fn train_as_main(
    source: &ConfigSource,
    args: &TrainArgs,
    (log, crash): Files<'_>,
    (mut job, mut parts): (Job, Parts),
    world: Option<&Rc<World>>,
) -> Result<ExitCode, Failure> {
    job.keep_on_rank(true, parts.has_output()).map_err(Failure::usage)?;
    let found = match args.fast.find(&args.run_dir, &job, &parts)? {
        Search::Run(found) => found,
        Search::Complete(run, past) => {
            world.map_or(Ok(()), |world| ranks::announce_complete(world))?;
            supervise::write_run_note(&run, &job);
            return Ok(start_lines::complete(&run, &past, args.json, args.quiet));
        }
    };
    let tried = found.settle_format(&mut parts, &job.config, world)?;
    // A checkpoint has its own weights.
    let weights = if found.has_checkpoint() { None } else { parts.load_weights(&job.config)? };
    let mut start = found.open(&job.config)?;
    let run = start.run.clone();
    let mut record = begin_record(source, args, &job, &start);
    let format = parts.engine.memory_format();
    record.set("memory_format", format.name());
    record.set("kernels", if kernels::is_native() { "native" } else { "default" });
    let when_started = write_run_files(&start, job.config.to_toml(), &record)?;
    let log_path = run.path().join("log.txt");
    log.open(&log_path).map_err(RunDirError::io("open", &log_path))?;
    let writers = writers(&start, job.config.to_toml(), args)?;
    let is_quiet = args.quiet || args.json;
    start_lines::decisions(&parts, tried.as_ref(), weights.as_ref(), &job, is_quiet);
    crash.report_to(&run.path().join(crash::FILE));
    supervise::write_run_note(&run, &job);
    let interrupt = Interrupt::listen(leave_interrupted).map_err(Failure::usage)?;
    let _watchdog = watchdog(&job, &interrupt);
    let trainer = Trainer::assemble(parts, &job, writers, Some(run.clone()), interrupt);
    let joined = trainer.map_err(Failure::from).and_then(|mut trainer| {
        if let Some(world) = world {
            let checkpoint = start.checkpoint.as_ref().map(|(path, _)| path.as_path());
            ranks::send_run_dir(world, &run, checkpoint, format)?;
            ranks::join(&mut trainer, world, &job.config)?;
        }
        Ok(trainer)
    });
    let mut trainer = match joined {
        Ok(trainer) => trainer,
        Err(failure) => {
            record.end("failed", failure.why());
            if !start.goes_on {
                record.write(&run)?;
            }
            return Err(failure);
        }
    };
    if let Some((_, checkpoint)) = start.checkpoint.take() {
        trainer.resume_from(Resume { checkpoint, force: args.run_dir.force, with_optimizer: true });
    }
    if let Some(act) = when_started {
        trainer.when_started(act);
    }
    args.fast.disable_checkpoints(&mut trainer);
    super::plan::warn_of_stale_reads(&job);
    tracing::info!("trains in {}", run.path().display());
    trainer.limit(args.limits.of(&job));
    for line in super::plan::lines(&job) {
        tracing::info!("plan: {line}");
    }
    train_and_report(trainer, record, &job, &run, args)
}

/// The record of a run that begins.
fn begin_record(source: &ConfigSource, args: &TrainArgs, job: &Job, start: &Start) -> Record {
    let mut record = Record::begin("train", &source.config.to_string_lossy(), &libraries(job));
    if let Some((path, _)) = &start.checkpoint {
        record.resumed_from(path, &start.run);
    }
    if !args.leave_out.is_empty() {
        record.set("left_out", args.leave_out.clone());
        tracing::warn!("training without {}, after crashes", args.leave_out.join(", "));
    }
    record
}

/// Trains, records the outcome and reports it.
fn train_and_report(
    mut trainer: Trainer,
    mut record: Record,
    job: &Job,
    run: &RunDir,
    args: &TrainArgs,
) -> Result<ExitCode, Failure> {
    if let Some(held) = &args.held {
        trainer.record_state_at(held.at);
    }
    let ending = trainer.fit();
    let finished = finish(&trainer, &ending, &mut record, run, args);
    requeue(&ending);
    let code = code_in(ending, &job.config);
    first_failure(code, finished)
}

/// Writes `run.json` and `config.toml`: at once for a new run, when every hook has started for a resumed one.
fn write_run_files(
    start: &Start,
    config: String,
    record: &Record,
) -> Result<Option<WhenStarted>, RunDirError> {
    let (run, record) = (start.run.clone(), record.to_bytes());
    let write = move |run: &RunDir| {
        // The first file: it marks the folder as a run directory, however early the process is killed.
        run.write("run.json", &record)?;
        run.write("config.toml", config.as_bytes())
    };
    let Some((_, checkpoint)) = start.checkpoint.as_ref().filter(|_| start.goes_on) else {
        return write(&run).map(|()| None);
    };
    let iter = checkpoint.state.position.iter;
    Ok(Some(Box::new(move || {
        // Before files are truncated: a process that is killed here resumes from the same checkpoint.
        checkpoint::point_latest_at(&run.checkpoints(), iter)?;
        write(&run)
    })))
}

/// The writers of the run; those of a resumed run start at the position saved in the checkpoint.
fn writers(start: &Start, config: String, args: &TrainArgs) -> Result<Writers, Failure> {
    let path = start.run.path();
    let (run_dir, is_temporary) = (Some(path.to_owned()), args.fast.is_on());
    let mut writers = Writers::new(RunFacts { run_dir, is_temporary, config });
    let is_announced = !args.quiet && args.fast.print_notice(args.json);
    if args.json {
        let checkpoint =
            start.checkpoint.as_ref().map(|(checkpoint, _)| checkpoint.to_string_lossy());
        if !is_announced {
            let path = path.to_string_lossy();
            say!("{}", json!({ "run_dir": path, "resumed_from": checkpoint }));
        }
        writers.add(JsonLines::new(stdio::print_line));
    } else if !args.quiet {
        if !is_announced {
            say!("run directory: {}", path.display());
        }
        if let Some((checkpoint, _)) = &start.checkpoint {
            say!("resuming from {}", checkpoint.display());
        }
        writers.add(Console::new());
    }
    writers.add(MetricsJson::open(&path.join("metrics.json"))?);
    if start.goes_on {
        let marks =
            start.checkpoint.as_ref().map(|(_, checkpoint)| checkpoint.state.writers.clone());
        writers.hold(marks.unwrap_or_default());
    }
    Ok(writers)
}

/// Records the outcome and prints the summary.
fn finish(
    trainer: &Trainer,
    ending: &Ending,
    record: &mut Record,
    run: &RunDir,
    args: &TrainArgs,
) -> Result<(), RunDirError> {
    if let (Some(StateDumpFile { file, .. }), Some(held)) = (&args.held, trainer.recorded()) {
        atomic::write(file, &serde_json::to_vec(held).unwrap_or_default())?;
    }
    if !trainer.has_started() {
        summary::log(trainer, ending);
        tracing::warn!("the run was not resumed: its files are unchanged");
        return Ok(());
    }
    let (outcome, why) = ending.describe();
    record.end(outcome, &why);
    record.set("hook_costs", trainer.costs().iter().map(HookCost::to_json).collect::<Vec<_>>());
    let progress = trainer.context().progress.get();
    if let Some(costs) = trainer.rank_costs() {
        record.set("ranks", costs.clone());
    }
    if let Some(measured) = trainer.measured_pipeline() {
        record.set("pipeline", schedule_drawing::record(measured));
        run.write(schedule_drawing::PICTURE, schedule_drawing::picture(measured).as_bytes())?;
    }
    record.set("epoch", progress.epoch);
    record.set("iter", progress.iter);
    record.set("metrics", summary::metrics_json(trainer));
    record.set("phases", summary::phases_json(trainer));
    if let Some(warning) = summary::warning(trainer) {
        record.set("warning", warning);
    }
    let written = record.write(run);
    summary::log(trainer, ending);
    // A missing report does not fail the run.
    let report = (!args.fast.is_on()).then(|| report::write(run.path(), None)).transpose();
    let report = report.inspect_err(|error| tracing::warn!("could not write the report: {error}"));
    if args.json {
        say!("{}", summary::json(trainer, ending));
    } else if !args.quiet {
        let run = (!args.fast.is_on()).then_some(run);
        summary::print(trainer, ending, run, report.ok().flatten().as_deref());
    }
    written
}
