//! The moment from which on a run changes what an earlier process left: when every hook has started, and not before.

use super::fit::{Result, Trainer};
use crate::run::RunDirError;

/// What is done when every hook has started.
pub(super) type WhenStarted = Box<dyn FnOnce() -> std::result::Result<(), RunDirError>>;

impl Trainer {
    /// Has `act` done, and the writers go back to their marks, once every hook has started: attached, given its state
    /// back, told that training begins. A run that fails before leaves everything as it was.
    pub fn when_started(
        &mut self,
        act: impl FnOnce() -> std::result::Result<(), RunDirError> + 'static,
    ) {
        self.when_started = Some(Box::new(act));
    }

    /// Whether the run has come so far that what it leaves is its own.
    pub fn has_started(&self) -> bool {
        self.when_started.is_none()
    }

    /// Every hook has started: what an earlier process left is gone on with from here.
    pub(super) fn started(&mut self) -> Result<()> {
        if let Some(act) = self.when_started.take() {
            act()?;
            self.context.writers.borrow_mut().begin()?;
        }
        Ok(())
    }
}
