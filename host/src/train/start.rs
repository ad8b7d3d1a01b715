//! When a resumed run may change existing files: once every hook has started.

use super::fit::{Result, Trainer};
use crate::run::RunDirError;

/// The work deferred until every hook has started.
pub type WhenStarted = Box<dyn FnOnce() -> std::result::Result<(), RunDirError>>;

impl Trainer {
    /// Runs `act`, and rewinds the writers to their marks, once every hook has started: attached, its state
    /// restored, `before_train` called. A run that fails earlier leaves everything unchanged.
    pub fn when_started(&mut self, act: WhenStarted) {
        self.when_started = Some(act);
    }

    /// Whether every hook has started, so that the run may write its files.
    pub fn has_started(&self) -> bool {
        self.when_started.is_none()
    }

    /// Every hook has started: existing files are continued from here.
    pub(super) fn started(&mut self) -> Result<()> {
        if let Some(act) = self.when_started.take() {
            act()?;
            self.context.writers.borrow_mut().begin()?;
        }
        Ok(())
    }
}
