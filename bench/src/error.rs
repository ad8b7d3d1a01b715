//! Errors of the benchmarks.

use hookrack::config::ConfigErrors;
use hookrack::engine::EngineError;
use hookrack::job::JobError;
use hookrack::plugins::LoadError;
use hookrack::run::RunDirError;

use std::path::PathBuf;
use thiserror::Error;

/// An error of the benchmarks.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Build(#[from] ConfigErrors),
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
    #[error("libtorch: {0}")]
    Operator(#[from] hookrack::torch::TorchError),
    #[error("could not use {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("hook `{0}` not found in its library")]
    NoHook(&'static str),
    #[error("could not create a hook: {0}")]
    Instance(String),
    #[error("could not compare with {path}: {why}")]
    Baseline { path: PathBuf, why: String },
    #[error("{failures} calls of `{name}` failed")]
    Calls { name: String, failures: u32 },
    #[error("unexpected end of the run: {0}")]
    Ending(String),
    #[error("scripts/bench/{script} failed: {why}")]
    Python { script: &'static str, why: String },
    #[error("the profiler's trace has no reduction of gradients")]
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
