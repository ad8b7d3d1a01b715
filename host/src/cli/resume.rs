//! Where a training run starts: in a new folder, or from a checkpoint.

use super::exit::Failure;
use crate::config::ResolvedConfig;
use crate::engine::FormatTrial;
use crate::engine::lr::Horizon;
use crate::ranks::{Ranks, Source};
use crate::run::checkpoint::{self, Checkpoint, Provenance};
use crate::run::{COMPLETED, Difference, PastRun, RunDir, RunLock, differences};
use crate::train::{Parts, limits};
use crate::world::World;
use clap::Args;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The run directory and what to resume from.
#[derive(Args)]
pub(super) struct RunDirArgs {
    /// Directory of this run, new or empty [default: <run.dir>/<run.name>, numbered if it exists]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// Resume from PATH, a checkpoint or a run directory; without PATH, from the newest intact checkpoint of this run, or
    /// from the start if there is none yet
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "not given, given without a path, given with one")]
    resume: Option<Option<PathBuf>>,

    /// Resume even if the config differs from the checkpoint's, or a hook rejects its saved state
    #[arg(long, requires = "resume")]
    pub(super) force: bool,

    /// Whether a launcher has started the run before.
    #[arg(skip)]
    is_restart: bool,
}

/// What a run starts from: found, locked and read, with nothing written yet.
pub(super) struct RunToStart {
    folder: Folder,
    checkpoint: Option<(PathBuf, Checkpoint)>,
}

/// The directory of a run.
enum Folder {
    /// A new folder: this one, or one named by the config.
    New(Option<PathBuf>),
    /// A temporary folder, removed at the end.
    Temporary,
    /// Its existing folder, resumed from the checkpoint.
    Same(RunDir, RunLock),
    /// Its existing folder without a checkpoint: the earlier files are moved aside.
    Again(RunDir, RunLock),
}

/// What `--resume` finds.
pub(super) enum Search {
    /// A run to start or resume.
    Run(Box<RunToStart>),
    /// A run that is complete.
    Complete(RunDir, PastRun),
}

/// Where a run starts.
pub(super) struct Start {
    /// Its folder.
    pub(super) run: RunDir,
    /// The checkpoint it resumes from.
    pub(super) checkpoint: Option<(PathBuf, Checkpoint)>,
    /// Whether the existing files are continued; otherwise they are created.
    pub(super) goes_on: bool,
    /// Keeps other processes from training there.
    _lock: RunLock,
    /// Removes the folder of a temporary run. Declared after the lock, which is in it.
    _removal: Option<Removal>,
}

/// Removes a folder when dropped.
struct Removal(PathBuf);

impl Drop for Removal {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!("could not remove {}: {error}", self.0.display());
        }
    }
}

impl From<RunToStart> for Search {
    fn from(found: RunToStart) -> Self {
        Self::Run(Box::new(found))
    }
}

impl RunToStart {
    fn in_new(folder: Option<PathBuf>, checkpoint: Option<(PathBuf, Checkpoint)>) -> Search {
        Self { folder: Folder::New(folder), checkpoint }.into()
    }

    /// A run in a folder that is removed at the end.
    pub(super) fn temporary() -> Self {
        Self { folder: Folder::Temporary, checkpoint: None }
    }

    /// Whether the run starts from a checkpoint, and so with its weights.
    pub(super) fn has_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// Sets the memory format: that of the checkpoint, or one that is chosen now.
    pub(super) fn settle_format(
        &self,
        parts: &mut Parts,
        config: &ResolvedConfig,
        world: Option<&Rc<World>>,
    ) -> Result<Option<FormatTrial>, Failure> {
        if let Some((_, checkpoint)) = &self.checkpoint {
            parts.keep_memory_format(config, checkpoint.engine.memory_format());
            return Ok(None);
        }
        let ranks = world.map_or_else(Ranks::single, |world| world.ranks().clone());
        Ok(parts.choose_memory_format(config, &ranks)?)
    }

    /// Creates the folder if needed. An existing run is not changed here.
    pub(super) fn open(self, config: &ResolvedConfig) -> Result<Start, Failure> {
        let Self { folder, checkpoint } = self;
        let goes_on = matches!(folder, Folder::Same(..));
        let is_temporary = matches!(folder, Folder::Temporary);
        let (run, lock) = match folder {
            Folder::New(path) => fresh(path.as_deref(), config)?,
            Folder::Temporary => {
                let run = RunDir::create(&std::env::temp_dir(), "hookrack-fast-dev-run")?;
                let lock = RunLock::take(run.path())?;
                (run, lock)
            }
            Folder::Same(run, lock) => (run, lock),
            Folder::Again(run, lock) => {
                let aside = run.set_aside()?;
                if let Some(aside) = aside {
                    tracing::warn!(
                        "{} has no checkpoint: the run starts over, its earlier files are in {}",
                        run.path().display(),
                        aside.display()
                    );
                }
                (run, lock)
            }
        };
        let removal = is_temporary.then(|| Removal(run.path().to_owned()));
        Ok(Start { run, checkpoint, goes_on, _lock: lock, _removal: removal })
    }
}

/// A folder for a new run.
fn fresh(path: Option<&Path>, config: &ResolvedConfig) -> Result<(RunDir, RunLock), Failure> {
    let taken = |path: &Path| {
        Err(Failure::usage(format!(
            "{} already contains a run: choose another directory with --run-dir, or resume it with --resume",
            path.display()
        )))
    };
    if let Some(path) = path.filter(|path| RunDir::holds_run(path)) {
        return taken(path);
    }
    let run = match path {
        Some(path) => RunDir::claim(path)?,
        None => RunDir::create(&config.run.dir, &config.run.name)?,
    };
    let lock = RunLock::take(run.path())?;
    // Another process may already have created it.
    if RunDir::holds_run(run.path()) { taken(run.path()) } else { Ok((run, lock)) }
}

impl RunDirArgs {
    /// The config, if the only path was given after `--resume`: it is a file then, whereas checkpoints are
    /// folders.
    ///
    /// # Errors
    /// No config was given.
    pub(super) fn config_after_resume(&mut self) -> Result<PathBuf, String> {
        match self.resume.take() {
            Some(Some(path)) if path.is_file() || path.extension() == Some("toml".as_ref()) => {
                self.resume = Some(None);
                Ok(path)
            }
            Some(Some(path)) => {
                let (config, path) = (path.join("config.toml"), path.display());
                Err(if config.is_file() {
                    let config = config.display();
                    format!(
                        "no config: use `hookrack train {config} --resume {path}` to resume it with its own config"
                    )
                } else {
                    format!("no config: use `hookrack train CONFIG --resume {path}`")
                })
            }
            _ => Err("no config: use `hookrack train CONFIG`".to_owned()),
        }
    }

    /// Follows the launcher: trains in the folder that it chose, and resumes there after a restart.
    ///
    /// # Errors
    /// A restart could not know which folder that is.
    pub(super) fn apply_launcher(&mut self, ranks: &Ranks) -> Result<(), Failure> {
        self.is_restart = ranks.restart > 0;
        if let Some(folder) = &ranks.run_dir {
            self.run_dir = Some(folder.clone());
        }
        let is_known = self.run_dir.is_some() || self.resume.is_some();
        if !is_known && (self.is_restart || ranks.max_restarts > 0) {
            let why = format!(
                "{} may restart this run, and a restart must find its directory: add --run-dir DIR, or --resume",
                ranks.source
            );
            // A batch system may requeue a job that is meant to start over.
            if matches!(ranks.source, Source::Single | Source::Slurm) {
                tracing::warn!("{why}");
                return Ok(());
            }
            return Err(Failure::usage(why));
        }
        if self.is_restart && self.resume.is_none() {
            self.resume = Some(None);
        }
        Ok(())
    }

    /// Makes the folder of a new run whose name is not given, for a launcher to pass to the ranks.
    pub(super) fn reserve(&self, config: &ResolvedConfig) -> Result<Option<RunDir>, Failure> {
        let is_new = match &self.resume {
            None => true,
            Some(None) => false,
            Some(Some(path)) => run_around(path).is_none(),
        };
        if self.run_dir.is_some() || !is_new {
            return Ok(None);
        }
        Ok(Some(RunDir::create(&config.run.dir, &config.run.name)?))
    }

    /// Finds what the run starts from. An existing run is locked before anything in it is read.
    pub(super) fn find(
        &self,
        config: &ResolvedConfig,
        now: &Provenance,
    ) -> Result<Search, Failure> {
        let limits = limits(config);
        let Some(resume) = &self.resume else {
            return Ok(RunToStart::in_new(self.run_dir.clone(), None));
        };
        let Some(path) = resume else {
            let own = self.run_dir.clone();
            let own = own.unwrap_or_else(|| config.run.dir.join(&*config.run.name));
            return if own.exists() {
                self.newest(&own, limits, now)
            } else {
                Ok(RunToStart::in_new(Some(own), None))
            };
        };
        match (run_around(path), &self.run_dir) {
            (Some(run), None) if same(&run, path) => self.newest(&run, limits, now),
            (Some(run), None) => self.named(&run, path, now),
            // In another folder it is another run, and this one is only read.
            (_, Some(own)) if self.is_restart && RunDir::holds_run(own) => {
                match self.newest(own, limits, now)? {
                    Search::Run(mut found) => {
                        if found.checkpoint.is_none() {
                            found.checkpoint = Some(newest_in(path)?);
                        }
                        Ok(Search::Run(found))
                    }
                    complete @ Search::Complete(..) => Ok(complete),
                }
            }
            (_, own) => {
                let found = newest_in(path)?;
                self.compare(&found, now)?;
                Ok(RunToStart::in_new(own.clone(), Some(found)))
            }
        }
    }

    /// Resumes a run from its newest checkpoint.
    fn newest(&self, run: &Path, limits: Horizon, now: &Provenance) -> Result<Search, Failure> {
        let (run, lock) = locked(run)?;
        let newest = checkpoint::newest_valid(&run.checkpoints())?;
        let past = PastRun::read(run.path());
        let is_damaged = newest.as_ref().is_some_and(|newest| newest.is_second_choice);
        let checkpoint = newest.map(|newest| (newest.path, newest.checkpoint));
        checkpoint.iter().try_for_each(|found| self.compare(found, now))?;
        match (past, checkpoint) {
            (Some(past), _) if past.is_complete(limits) && !is_damaged => {
                Ok(Search::Complete(run, past))
            }
            (Some(past), None) if past.outcome == COMPLETED => Err(Failure::usage(format!(
                "{} is complete after {} iterations and has no checkpoint to continue from: start a new run with \
                 --run-dir or another run.name",
                run.path().display(),
                past.iter
            ))),
            (_, None) => {
                Ok(RunToStart { folder: Folder::Again(run, lock), checkpoint: None }.into())
            }
            (_, checkpoint) => {
                Ok(RunToStart { folder: Folder::Same(run, lock), checkpoint }.into())
            }
        }
    }

    /// Resumes the run that a checkpoint belongs to. Its later checkpoints are ignored from then on.
    fn named(&self, run: &Path, path: &Path, now: &Provenance) -> Result<Search, Failure> {
        let (run, lock) = locked(run)?;
        let found = checkpoint::open(path)?;
        self.compare(&found, now)?;
        Ok(RunToStart { folder: Folder::Same(run, lock), checkpoint: Some(found) }.into())
    }

    /// Reports differences from the run that wrote the checkpoint; fails if resuming cannot work.
    fn compare(&self, found: &(PathBuf, Checkpoint), now: &Provenance) -> Result<(), Failure> {
        let all = differences(&found.1.state.provenance, now);
        for difference in &all {
            tracing::warn!("differs from the checkpoint: {difference}");
        }
        let refused: Vec<&Difference> = all.iter().filter(|d| !d.refused.is_empty()).collect();
        if refused.is_empty() || self.force {
            return Ok(());
        }
        let lines: Vec<_> = refused.iter().map(|difference| format!("\n  {difference}")).collect();
        Err(Failure::usage(format!(
            "{} does not match this config:{}\n  use the original config, start a new run, or resume anyway with --force",
            found.0.display(),
            lines.concat()
        )))
    }
}

/// The run at a path, locked; cleans up after a killed process if no other process can be at work there.
fn locked(run: &Path) -> Result<(RunDir, RunLock), Failure> {
    let run = RunDir::claim(run)?;
    let lock = RunLock::take(run.path())?;
    if lock.excludes_others {
        checkpoint::recover(&run.checkpoints())?;
    }
    Ok((run, lock))
}

/// The checkpoint at a path: the newest intact one of a run, or the path itself.
fn newest_in(path: &Path) -> Result<(PathBuf, Checkpoint), Failure> {
    match checkpoint::newest_valid(&path.join("checkpoints"))? {
        Some(newest) => Ok((newest.path, newest.checkpoint)),
        None => Ok(checkpoint::open(path)?),
    }
}

/// The run directory that a path is or belongs to: one of its checkpoints, or their folder. Also if
/// `checkpoints` is a link to another folder.
fn run_around(path: &Path) -> Option<PathBuf> {
    if RunDir::holds_run(path) {
        return Some(path.to_owned());
    }
    let path = std::path::absolute(path).ok()?;
    let folder = path.ancestors().take(2).find(|folder| folder.ends_with("checkpoints"))?;
    folder.parent().filter(|run| RunDir::holds_run(run)).map(Path::to_owned)
}

/// Whether a path inside a run refers to its newest checkpoint.
fn same(run: &Path, path: &Path) -> bool {
    path == run || path.file_name().is_some_and(|name| name == "checkpoints")
}
