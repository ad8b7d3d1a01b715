//! Why nothing could be measured.

use hookrack::engine::EngineError;
use hookrack::job::JobError;
use hookrack::plugins::LoadError;
use hookrack::run::RunDirError;
use hookrack::train::BuildError;
use std::path::PathBuf;
use thiserror::Error;

/// Why nothing could be measured.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Plan(#[from] hookrack::dispatch::PlanError),
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    #[error("libtorch: {0}")]
    Torch(#[from] tch::TchError),
    #[error("could not use {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("hook `{0}` is not where it should be")]
    NoHook(&'static str),
    #[error("a hook could not be made: {0}")]
    Instance(String),
    #[error("{failures} calls of `{name}` failed")]
    Calls { name: String, failures: u32 },
    #[error("the run ended otherwise than expected: {0}")]
    Ending(String),
    #[error("scripts/bench/ddp.py failed: {why}")]
    Python { why: String },
    #[error("the profiler left no trace of a reduction")]
    NoTrace,
    #[error("`hookrack {command}` failed: {why}")]
    Command { command: String, why: String },
}

impl BenchError {
    /// An error about a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
