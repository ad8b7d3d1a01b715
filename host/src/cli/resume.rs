//! Where a training run begins: in a new folder, or where a checkpoint of an old one was taken.

use super::exit::Failure;
use crate::config::ResolvedConfig;
use crate::run::checkpoint::{self, Checkpoint, Provenance};
use crate::run::{Difference, RunDir, RunLock, differences};
use clap::Args;
use std::path::{Path, PathBuf};

/// Where a run goes and what it begins with.
#[derive(Args)]
pub(super) struct Place {
    /// Directory of this run, new or empty [default: <run.dir>/<run.name>, numbered if it exists]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,

    /// Resume from PATH, a checkpoint or a run directory; without PATH from the newest valid checkpoint of this run's
    /// directory, or from the beginning if there is none yet
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "not given, given without a path, given with one")]
    resume: Option<Option<PathBuf>>,

    /// Resume even if the config differs from the checkpoint's, or a hook rejects its saved state
    #[arg(long, requires = "resume")]
    pub(super) force: bool,
}

/// Where a run begins.
pub(super) struct Start {
    /// Its folder.
    pub(super) run: RunDir,
    /// The checkpoint it is taken up from.
    pub(super) checkpoint: Option<(PathBuf, Checkpoint)>,
    /// Whether the folder's files are gone on with; else they are begun.
    pub(super) goes_on: bool,
    /// Nobody else trains there.
    _lock: RunLock,
    /// What removes the folder of a run of which nothing is kept. After the lock, which is in it.
    _removal: Option<Removal>,
}

impl Start {
    /// A run in a folder that is removed with this.
    pub(super) fn temporary() -> Result<Self, Failure> {
        let run = RunDir::create(&std::env::temp_dir(), "hookrack-fast-dev-run")?;
        let removal = Removal(run.path().to_owned());
        let lock = RunLock::take(run.path())?;
        Ok(Self { run, checkpoint: None, goes_on: false, _lock: lock, _removal: Some(removal) })
    }
}

/// Removes a folder at its end.
struct Removal(PathBuf);

impl Drop for Removal {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!("could not remove {}: {error}", self.0.display());
        }
    }
}

impl Place {
    /// The config of a command that names none but after `--resume`: what stands there is a file, and checkpoints are
    /// folders.
    ///
    /// # Errors
    /// There is no config at all.
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
                        "no config: write `hookrack train {config} --resume {path}` to resume it as it was"
                    )
                } else {
                    format!("no config: write `hookrack train CONFIG --resume {path}`")
                })
            }
            _ => Err("no config: write `hookrack train CONFIG`".to_owned()),
        }
    }

    /// Whether the run begins with a checkpoint: `--resume` alone is a fresh start where there is none yet.
    pub(super) fn resumes(&self, config: &ResolvedConfig) -> bool {
        match &self.resume {
            None => false,
            Some(None) => checkpoint::is_any(&self.own(config).join("checkpoints")),
            Some(Some(_)) => true,
        }
    }

    /// The run's own folder.
    fn own(&self, config: &ResolvedConfig) -> PathBuf {
        self.run_dir.clone().unwrap_or_else(|| config.run.dir.join(&config.run.name))
    }

    /// Finds or makes the folder, and reads the checkpoint.
    pub(super) fn start(
        &self,
        config: &ResolvedConfig,
        now: &Provenance,
    ) -> Result<Start, Failure> {
        match &self.resume {
            None => self.fresh(config, None),
            Some(None) => {
                let run = RunDir::claim(&self.own(config))?;
                let lock = RunLock::take(run.path())?;
                checkpoint::clean(&run.checkpoints());
                let checkpoint = checkpoint::newest_valid(&run.checkpoints())?;
                checkpoint.iter().try_for_each(|found| self.compare(found, now))?;
                Ok(Start { run, checkpoint, goes_on: true, _lock: lock, _removal: None })
            }
            Some(Some(path)) => {
                let found = match checkpoint::newest_valid(&path.join("checkpoints"))? {
                    Some(found) => found,
                    None => checkpoint::open(path)?,
                };
                self.compare(&found, now)?;
                match (run_of(&found.0), &self.run_dir) {
                    (Some(run), None) if RunDir::holds_run(&run) => {
                        Self::at_checkpoint(&run, found)
                    }
                    (_, _) => self.fresh(config, Some(found)),
                }
            }
        }
    }

    fn fresh(
        &self,
        config: &ResolvedConfig,
        checkpoint: Option<(PathBuf, Checkpoint)>,
    ) -> Result<Start, Failure> {
        if let Some(path) = self.run_dir.as_deref().filter(|path| RunDir::holds_run(path)) {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} holds a run already: choose another directory with --run-dir, or continue it with --resume"
            )));
        }
        let run = match &self.run_dir {
            Some(path) => RunDir::claim(path)?,
            None => RunDir::create(&config.run.dir, &config.run.name)?,
        };
        let lock = RunLock::take(run.path())?;
        Ok(Start { run, checkpoint, goes_on: false, _lock: lock, _removal: None })
    }

    /// Goes on in the run that a checkpoint belongs to. Later ones are passed over from now on.
    fn at_checkpoint(run: &Path, found: (PathBuf, Checkpoint)) -> Result<Start, Failure> {
        let run = RunDir::at(run)?;
        let lock = RunLock::take(run.path())?;
        checkpoint::clean(&run.checkpoints());
        checkpoint::point_latest_at(&run.checkpoints(), found.1.facts.position.iter)?;
        Ok(Start { run, checkpoint: Some(found), goes_on: true, _lock: lock, _removal: None })
    }

    /// Tells what differs from the run that wrote the checkpoint; refuses what cannot work.
    fn compare(&self, found: &(PathBuf, Checkpoint), now: &Provenance) -> Result<(), Failure> {
        let all = differences(&found.1.facts.provenance, now);
        for difference in &all {
            tracing::warn!("other than in the checkpoint: {difference}");
        }
        let refused: Vec<&Difference> = all.iter().filter(|d| !d.refused.is_empty()).collect();
        if refused.is_empty() || self.force {
            return Ok(());
        }
        let lines: Vec<_> = refused.iter().map(|difference| format!("\n  {difference}")).collect();
        Err(Failure::usage(format!(
            "{} does not fit this config:{}\n  use the config as it was, start a new run, or resume anyway with --force",
            found.0.display(),
            lines.concat()
        )))
    }
}

/// The run directory of a checkpoint, where it stands in one; also where `checkpoints` leads elsewhere.
fn run_of(checkpoint: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(checkpoint).ok()?.parent()?.to_owned();
    folder.ends_with("checkpoints").then(|| folder.parent().map(Path::to_owned)).flatten()
}
