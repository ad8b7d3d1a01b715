//! What can go wrong with a run's files.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file or folder of a run could not be read or written.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RunDirError {
    #[error("could not {doing} {path}: {why}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, why: std::io::Error },
    /// There is no checkpoint at the path.
    #[error("no checkpoint at {path}: pass a checkpoint, or a run directory that has one", path = path.display())]
    NoCheckpoint { path: PathBuf },
    #[error("{path} is damaged: {why}", path = path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("could not {doing} the tensor `{name}`: {why}")]
    Tensor { doing: &'static str, name: String, why: String },
    #[error("hook `{hook}` could not save its state: {why}")]
    HookState { hook: String, why: String },
    #[error("hook `{hook}` could not load its state: {why}; use --force to continue without it")]
    StateRefused { hook: String, why: String },
    #[error(
        "out of memory: a copy of the tensors to write needs {bytes} bytes; what was written earlier is intact"
    )]
    NoMemory { bytes: usize },
    #[error(
        "rank {rank} could not write its part of a checkpoint: {why}; earlier checkpoints are intact"
    )]
    OtherRank { rank: usize, why: String },
    #[error("writing a checkpoint panicked, a bug in hookrack; earlier checkpoints are intact")]
    WriterPanicked,
    /// A folder that contains something other than a run.
    #[error("{path} is not a run directory: {why}; choose a new or empty folder with --run-dir (nothing was written)", path = path.display())]
    NotARun { path: PathBuf, why: &'static str },
    #[error("{path} is in use by another process: wait for it, or choose another folder with --run-dir", path = path.display())]
    InUse { path: PathBuf },
    #[error("{count} records of the run are not in {path}: {why}", path = path.display())]
    RecordsLost { path: PathBuf, count: u64, why: String },
    #[error("{path} does not match this config: {why}; use the config that the run was trained with{}", config_of(path), path = path.display())]
    Misfit { path: PathBuf, why: String },
}

/// The config of the run that a checkpoint is in, to be appended.
fn config_of(checkpoint: &Path) -> String {
    let config = checkpoint.ancestors().nth(2).map(|run| run.join("config.toml"));
    let config = config.filter(|config| config.is_file());
    config.map_or_else(String::new, |config| format!(": {}", config.display()))
}

impl RunDirError {
    /// Wraps a system error.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |why| Self::Io { doing, path, why }
    }

    /// A tensor that libtorch does not convert.
    pub fn tensor(doing: &'static str, name: &str, why: &tch::TchError) -> Self {
        Self::Tensor { doing, name: name.to_owned(), why: why.to_string() }
    }

    /// A damaged file.
    pub fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.into() }
    }
}
