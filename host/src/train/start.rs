//! What a run starts from, and when it may change existing files: once every hook has started.

use super::fit::{Result, Trainer};
use super::restore::Resume;
use crate::run::RunDirError;
use crate::torch::rng::RngState;

/// The work deferred until every hook has started.
pub type WhenStarted = Box<dyn FnOnce() -> std::result::Result<(), RunDirError>>;

/// What a run starts from, until it has.
#[derive(Default)]
pub(super) struct Starting {
    // A checkpoint that is restored before any hook is called.
    pub(super) resume: Option<Resume>,
    // Its random state, set when training begins.
    pub(super) rng: Option<RngState>,
    // Deferred until every hook has started.
    pub(super) when_started: Option<WhenStarted>,
}

impl Trainer {
    /// Runs `act`, and rewinds the writers to their marks, once every hook has started: attached, its state
    /// restored, `before_train` called. A run that fails earlier leaves everything unchanged.
    pub fn when_started(&mut self, act: WhenStarted) {
        self.starting.when_started = Some(act);
    }

    /// Whether every hook has started, so that the run may write its files.
    pub fn has_started(&self) -> bool {
        self.starting.when_started.is_none()
    }

    /// Every hook has started: existing files are continued from here.
    pub(super) fn started(&mut self) -> Result<()> {
        if let Some(act) = self.starting.when_started.take() {
            act()?;
            self.context.writers.borrow_mut().begin()?;
        }
        Ok(())
    }
}
