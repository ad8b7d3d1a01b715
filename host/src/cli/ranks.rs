//! Commands on several ranks: `train` meets the others, rank 0 opens the run and they follow it; what runs alone is refused.

use super::exit::Failure;
use super::logging::LogFile;
use super::train::TrainArgs;
use crate::config::ResolvedConfig;
use crate::job::Job;
use crate::provenance::provenance;
use crate::ranks::Ranks;
use crate::run::{RunDir, RunDirError};
use crate::run::{checkpoint, data_files};
use crate::train::{Interrupt, Limits, Parts, Resume, Trainer};
use crate::world::World;
use crate::writers::{RunFacts, Writers, leave_terminal};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

/// What rank 0 tells the others before they start.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// Train in this run, from this checkpoint.
    Train { run: PathBuf, checkpoint: Option<PathBuf> },
    /// The run is complete.
    Complete,
    /// Rank 0 could not start.
    Failed(String),
}

/// The folder of a run for the logs of its ranks.
const FOLDER: &str = "ranks";

/// The key of that note.
const START: &str = "start";

/// Refuses a command that runs in one process only: every rank would do, print and write the same.
pub(super) fn check_single(command: &str) -> Result<(), Failure> {
    let ranks = Ranks::from_env().map_err(Failure::usage)?;
    if ranks.is_single() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "`{command}` runs in one process, and this is rank {} of {} ({}): start it once, without a launcher",
        ranks.rank, ranks.world, ranks.source
    )))
}

/// Meets the other ranks, and makes sure that all are about to train the same.
pub(super) fn meet(ranks: &Ranks, job: &Job) -> Result<Option<Rc<World>>, Failure> {
    let Some(world) = World::meet(ranks).map_err(Failure::peer)? else { return Ok(None) };
    compare(&world, job)?;
    Ok(Some(Rc::new(world)))
}

/// Names a rank whose config, libraries or data differ from those of rank 0.
fn compare(world: &World, job: &Job) -> Result<(), Failure> {
    let own = serde_json::to_vec(&facts(job)).unwrap_or_default();
    let all = world.exchange(&own).map_err(Failure::peer)?;
    let all: Vec<Json> =
        all.iter().map(|bytes| serde_json::from_slice(bytes).unwrap_or_default()).collect();
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
fn facts(job: &Job) -> Json {
    let about = provenance(job);
    let mut all = Map::new();
    let mut put = |key: String, value: Json| drop(all.insert(key, value));
    put("hookrack".to_owned(), about.hookrack.into());
    put("libtorch".to_owned(), about.libtorch.into());
    for library in &about.libraries {
        let path = library["path"].as_str().unwrap_or_default();
        put(format!("library {}", name_of(path)), library["sha256"].clone());
    }
    for (name, found) in data_files::fingerprints(&about.config) {
        put(format!("data file {name}"), found.join("; ").into());
    }
    let config = about.config.parse::<toml::Table>().unwrap_or_default();
    for (section, value) in &config {
        // Where its files go is rank 0's affair, and machines differ in cores and folders.
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

/// Tells the others in which run to train.
pub(super) fn announce(
    world: &World,
    run: &RunDir,
    checkpoint: Option<&Path>,
) -> Result<(), Failure> {
    let run = std::path::absolute(run.path()).unwrap_or_else(|_| run.path().to_owned());
    let checkpoint =
        checkpoint.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    world.keep_records_in(run.join(FOLDER));
    tell(world, &Word::Train { run, checkpoint })
}

/// Tells the others that there is nothing to do.
pub(super) fn announce_complete(world: &World) -> Result<(), Failure> {
    tell(world, &Word::Complete)?;
    world.finish();
    Ok(())
}

/// Tells the others that rank 0 failed before it could tell them where to train.
pub(super) fn give_up(world: &World, failure: &Failure) {
    let told = tell(world, &Word::Failed(failure.to_string()));
    if let Err(error) = told {
        tracing::debug!("the other ranks could not be told: {error}");
    }
    world.tell_failure(&failure.to_string());
    world.leave();
}

fn tell(world: &World, message: &Word) -> Result<(), Failure> {
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

/// Trains on a rank that is not the first: it has no files of its own but a log.
pub(super) fn follow(
    world: &Rc<World>,
    mut job: Job,
    parts: Parts,
    args: &TrainArgs,
    log: &LogFile,
) -> Result<ExitCode, Failure> {
    let note = world.read_note(START).map_err(Failure::peer)?;
    let (run, checkpoint) = match serde_json::from_slice(&note) {
        Ok(Word::Train { run, checkpoint }) => (run, checkpoint),
        Ok(Word::Complete) => {
            world.finish();
            return Ok(ExitCode::SUCCESS);
        }
        Ok(Word::Failed(why)) => {
            world.leave();
            return Err(Failure::peer(format!("rank 0 could not start: {why}")));
        }
        Err(error) => return Err(Failure::peer(error)),
    };
    world.keep_records_in(run.join(FOLDER));
    open_log(log, &run, world.ranks().rank);
    let checkpoint = checkpoint.map(|path| checkpoint::open(&path)).transpose()?;
    let facts = RunFacts { run_dir: None, is_temporary: false, config: job.config.to_toml() };
    let interrupt = Interrupt::listen(leave_terminal).map_err(Failure::usage)?;
    job.leave_to_main().map_err(Failure::usage)?;
    let mut trainer = Trainer::assemble(parts, &job, Writers::new(facts), None, interrupt)?;
    join(&mut trainer, world, &job.config)?;
    if let Some((_, checkpoint)) = checkpoint {
        trainer.resume_from(Resume { checkpoint, force: args.place.force });
    }
    let (until, save_at) = args.bounds();
    trainer.limit(Limits::new(job.config.train.max_time, until, save_at));
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
