//! A hook that failed: which one, where, when, and why.

use super::Attached;
use hookrack_plugin_api::{OnError, Point};
use std::fmt::Display;
use thiserror::Error;

/// How a hook failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It returned an error.
    Error,
    /// It panicked; the panic was caught on its side.
    Panic,
}

impl FailureKind {
    fn verb(self) -> &'static str {
        match self {
            Self::Error => "failed",
            Self::Panic => "panicked",
        }
    }
}

/// A hook failed at a point.
#[derive(Clone, Debug, Error)]
#[error(
    "hook `{hook}` ({source_name}) {} at {point}, epoch {epoch}, iteration {iter}: {message}",
    kind.verb()
)]
pub struct HookError {
    /// The instance.
    pub hook: String,
    /// The library that it comes from, or "built in".
    pub source_name: String,
    /// Where it failed.
    pub point: Point,
    /// The epoch in progress.
    pub epoch: u64,
    /// The training iteration in progress.
    pub iter: u64,
    /// How.
    pub kind: FailureKind,
    /// Its error message.
    pub message: String,
}

impl HookError {
    /// The error without epoch and iteration, for places that already show them.
    pub fn reason(&self) -> String {
        let Self { hook, source_name, point, message, .. } = self;
        format!("hook `{hook}` ({source_name}) {} at {point}: {message}", self.kind.verb())
    }
}

impl Attached {
    /// Applies the hook's error policy: returns the error as `Err` under `abort` or if it `must_abort`; otherwise logs it, and
    /// what it means for the run.
    pub fn apply_policy<E: Display>(
        &mut self,
        error: E,
        kind: FailureKind,
        must_abort: bool,
        consequence: &str,
    ) -> Result<E, E> {
        let policy = self.spec.on_error;
        // A hook that panicked is never called again, regardless of the policy.
        self.disabled = kind == FailureKind::Panic || policy == OnError::Disable;
        if must_abort || policy == OnError::Abort {
            return Err(error);
        }
        let then = if self.disabled {
            "it is disabled for the rest of the run"
        } else {
            "it stays enabled"
        };
        tracing::warn!("{error}; {then}{consequence} (on_error = \"{}\")", policy.name());
        Ok(error)
    }
}
