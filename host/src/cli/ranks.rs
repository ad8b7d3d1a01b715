//! Commands on several ranks: in `train` rank 0 opens the run for all; in `eval` and `predict` rank 0 prints and writes; single-process
//! commands are refused.

use super::exit::Failure;
use super::from_checkpoint::FromCheckpoint;
use super::logging::LogFile;
use super::train::{Files, TrainArgs, watchdog};
use crate::config::ResolvedConfig;
use crate::engine::MemoryFormat;
use crate::job::Job;
use crate::provenance::provenance;
use crate::ranks::Ranks;
use crate::run::{RunDir, RunDirError};
use crate::run::{checkpoint, fingerprints};
use crate::train::{Interrupt, Parts, Resume, Trainer, Watchdog};
use crate::world::World;
use crate::writers::{RunFacts, Writers, leave_interrupted};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

/// The message of rank 0 to the others before they start.
#[derive(Debug, Serialize, Deserialize)]
enum StartMessage {
    /// Train in this run, from this checkpoint, in this memory format.
    Train { run: PathBuf, checkpoint: Option<PathBuf>, format: MemoryFormat },
    /// The run is complete.
    Complete,
    /// Rank 0 could not start.
    Failed(String),
}

/// The folder of a run for the logs of its ranks.
const FOLDER: &str = "ranks";

/// The key of that note.
const START: &str = "start";

/// Refuses a command that runs as a single process: every rank would do and print the same.
pub(super) fn check_single(command: &str) -> Result<(), Failure> {
    let ranks = Ranks::from_env().map_err(Failure::usage)?;
    if ranks.is_single() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "`{command}` runs as a single process, but this is rank {} of {} ({}): start it once, without a launcher",
        ranks.rank, ranks.world, ranks.source
    )))
}

/// Connects to the other ranks and checks that all have the same config, libraries and data.
pub(super) fn connect_ranks(ranks: &Ranks, job: &Job) -> Result<Option<Rc<World>>, Failure> {
    let Some(world) = World::connect(ranks).map_err(Failure::peer)? else { return Ok(None) };
    compare(&world, job)?;
    Ok(Some(Rc::new(world)))
}

/// Fails with the name of a rank whose config, libraries or data differ from those of rank 0.
fn compare(world: &World, job: &Job) -> Result<(), Failure> {
    let all: Vec<Json> = world.exchange_json(&shared_settings(job)).map_err(Failure::peer)?;
    let first = all.first().cloned().unwrap_or_default();
    for (rank, other) in all.iter().enumerate() {
        let both = [&first, other].into_iter().filter_map(Json::as_object).flat_map(Map::keys);
        let both: BTreeSet<_> = both.cloned().collect();
        if let Some(what) = both.into_iter().find(|what| first.get(what) != other.get(what)) {
            let of = |facts: &Json| facts.get(&what).map_or("none".to_owned(), Json::to_string);
            return Err(Failure::usage(format!(
                "rank {rank} differs from rank 0 in {what}:\n  rank 0: {}\n  rank {rank}: {}\n  start all ranks with the \
                 same config, plugins and data",
                of(&first),
                of(other)
            )));
        }
    }
    Ok(())
}

/// What must be the same on all ranks, one entry for each thing that can differ.
fn shared_settings(job: &Job) -> Json {
    let about = provenance(job);
    let mut all = Map::new();
    let mut put = |key: String, value: Json| drop(all.insert(key, value));
    put("hookrack".to_owned(), about.hookrack.into());
    put("libtorch".to_owned(), about.libtorch.into());
    for library in &about.libraries {
        let path = library["path"].as_str().unwrap_or_default();
        put(format!("library {}", name_of(path)), library["sha256"].clone());
    }
    for (name, found) in fingerprints::of_config(&about.config) {
        put(name, found.join("; ").into());
    }
    let config = about.config.parse::<toml::Table>().unwrap_or_default();
    for (section, value) in &config {
        // Only rank 0 writes files, and machines differ in cores and folders.
        if !matches!(section.as_str(), "run" | "plugins") {
            flatten(section, value, &mut put);
        }
    }
    Json::Object(all)
}

fn flatten(key: &str, value: &toml::Value, put: &mut impl FnMut(String, Json)) {
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, put));
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            let numbered = values.iter().enumerate();
            numbered.for_each(|(at, value)| flatten(&format!("{key}.{at}"), value, put));
        }
        _ if key == "train.threads" => {}
        toml::Value::String(text) if Path::new(text).is_absolute() => {
            put(key.to_owned(), name_of(text).into());
        }
        value => put(key.to_owned(), value.to_string().into()),
    }
}

fn name_of(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// Sends the others the run to train in.
pub(super) fn send_run_dir(
    world: &World,
    run: &RunDir,
    checkpoint: Option<&Path>,
    format: MemoryFormat,
) -> Result<(), Failure> {
    let run = std::path::absolute(run.path()).unwrap_or_else(|_| run.path().to_owned());
    let checkpoint =
        checkpoint.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    world.keep_records_in(run.join(FOLDER));
    send_start(world, &StartMessage::Train { run, checkpoint, format })
}

/// Sends the others that there is nothing to do.
pub(super) fn announce_complete(world: &World) -> Result<(), Failure> {
    send_start(world, &StartMessage::Complete)?;
    world.finish();
    Ok(())
}

/// Reports to the others that this rank failed before training.
pub(super) fn report_failure(world: &World, failure: &Failure) {
    if world.ranks().is_main() {
        let sent = send_start(world, &StartMessage::Failed(failure.why().to_owned()));
        if let Err(error) = sent {
            tracing::debug!("could not report the failure to the other ranks: {error}");
        }
    }
    world.report_failure(failure.why());
    world.leave();
}

fn send_start(world: &World, message: &StartMessage) -> Result<(), Failure> {
    let bytes = serde_json::to_vec(message).unwrap_or_default();
    world.leave_note(START, &bytes).map_err(Failure::peer)
}

/// Makes a trainer one of the ranks.
pub(super) fn join(
    trainer: &mut Trainer,
    world: &Rc<World>,
    config: &ResolvedConfig,
) -> Result<(), Failure> {
    trainer.join(world, &config.distributed).map_err(Failure::peer)
}

/// A trainer that evaluates a checkpoint, watched for hooks that do not return.
pub(super) struct Evaluator {
    pub(super) trainer: Trainer,
    /// Whether this is the only process, or rank 0.
    pub(super) is_main: bool,
    _watchdog: Watchdog,
}

/// A trainer that evaluates a checkpoint: alone, or as one of several ranks. Only the main one has writers.
pub(super) fn evaluator(
    job: &mut Job,
    from: &FromCheckpoint,
    writers: Writers,
) -> Result<Evaluator, Failure> {
    let ranks = Ranks::from_env().map_err(Failure::usage)?;
    let mut parts = Parts::build_to_evaluate(&job.config, &ranks)?;
    let checkpoint = from.open()?;
    let world = connect_ranks(&ranks, job)?;
    let writers = if ranks.is_main() { writers } else { Writers::default() };
    parts.keep_memory_format(&job.config, checkpoint.checkpoint.engine.memory_format());
    let joined = assemble_evaluator(job, parts, writers, world.as_ref());
    let (mut trainer, watchdog) = joined.inspect_err(|failure| {
        if let Some(world) = &world {
            report_failure(world, failure);
        }
    })?;
    trainer.resume_from(checkpoint);
    Ok(Evaluator { trainer, is_main: ranks.is_main(), _watchdog: watchdog })
}

fn assemble_evaluator(
    job: &mut Job,
    parts: Parts,
    writers: Writers,
    world: Option<&Rc<World>>,
) -> Result<(Trainer, Watchdog), Failure> {
    let interrupt = Interrupt::listen(leave_interrupted).map_err(Failure::usage)?;
    let watchdog = watchdog(job, &interrupt);
    let is_main = world.is_none_or(|world| world.ranks().is_main());
    job.keep_on_rank(is_main, true).map_err(Failure::usage)?;
    let mut trainer = Trainer::assemble(parts, job, writers, None, interrupt)?;
    if let Some(world) = world {
        join(&mut trainer, world, &job.config)?;
    }
    Ok((trainer, watchdog))
}

/// Trains on a rank that is not the first: it has no files of its own but a log.
pub(super) fn train_as_worker(
    world: &Rc<World>,
    mut job: Job,
    mut parts: Parts,
    args: &TrainArgs,
    (log, crash): Files<'_>,
) -> Result<ExitCode, Failure> {
    let note = world.read_note(START).map_err(Failure::peer)?;
    let (run, checkpoint) = match serde_json::from_slice(&note) {
        Ok(StartMessage::Train { run, checkpoint, format }) => {
            parts.engine.set_memory_format(format);
            (run, checkpoint)
        }
        Ok(StartMessage::Complete) => {
            world.finish();
            return Ok(ExitCode::SUCCESS);
        }
        Ok(StartMessage::Failed(why)) => {
            // Rank 0 reports it.
            world.leave();
            return Err(Failure::peer(format!("rank 0 could not start: {why}")));
        }
        Err(error) => return Err(Failure::peer(error)),
    };
    world.keep_records_in(run.join(FOLDER));
    let rank = world.ranks().rank;
    open_log(log, &run, rank);
    tracing::info!("memory_format: {}", parts.engine.memory_format().name());
    crash.report_to(&run.join(FOLDER).join(format!("rank_{rank}.crash.json")));
    // Rank 0 has verified it.
    let checkpoint = checkpoint.map(|path| checkpoint::read_verified(&path)).transpose()?;
    // Ranks with the whole model take over that of rank 0.
    if checkpoint.is_none() && parts.engine.stage().is_some() {
        parts.load_weights(&job.config)?;
    }
    let facts = RunFacts { run_dir: None, is_temporary: false, config: job.config.to_toml() };
    let interrupt = Interrupt::listen(leave_interrupted).map_err(Failure::usage)?;
    let _watchdog = watchdog(&job, &interrupt);
    job.keep_on_rank(false, parts.has_output()).map_err(Failure::usage)?;
    let mut trainer = Trainer::assemble(parts, &job, Writers::new(facts), None, interrupt)?;
    join(&mut trainer, world, &job.config)?;
    if let Some(checkpoint) = checkpoint {
        trainer.resume_from(Resume { checkpoint, force: args.run_dir.force, with_optimizer: true });
    }
    trainer.limit(args.limits.of(&job));
    super::exit::code_in(trainer.fit(), &job.config)
}

/// Each rank has its own log beside that of the run.
fn open_log(log: &LogFile, run: &Path, rank: usize) {
    let folder = run.join(FOLDER);
    let path = folder.join(format!("rank_{rank}.log"));
    let opened = std::fs::create_dir_all(&folder).and_then(|()| log.open(&path));
    if let Err(error) = opened.map_err(RunDirError::io("open", &path)) {
        tracing::warn!("{error}");
    }
}
