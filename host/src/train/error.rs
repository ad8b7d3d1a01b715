//! Errors that end a run.

use crate::dispatch::HookError;
use crate::engine::EngineError;
use crate::run::RunDirError;
use thiserror::Error;

/// An error that ended a run.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TrainError {
    /// A hook failed under `abort`.
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error("{}{why}", place(*epoch, *iter))]
    Step { epoch: u64, iter: u64, why: EngineError },
    #[error("{0}")]
    Rank(String),
    /// The run's files could not be written.
    #[error(transparent)]
    Files(#[from] RunDirError),
}

/// The position before an error; nothing before training begins.
fn place(epoch: u64, iter: u64) -> String {
    if epoch == 0 { String::new() } else { format!("epoch {epoch}, iteration {iter}: ") }
}

impl TrainError {
    /// The error without epoch and iteration, for places that already show the position.
    pub fn reason(&self) -> String {
        match self {
            Self::Hook(error) => error.reason(),
            Self::Step { why, .. } => why.to_string(),
            Self::Rank(_) | Self::Files(_) => self.to_string(),
        }
    }
}
