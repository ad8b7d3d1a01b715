//! Requests of a hook to the loop.

use super::Trainer;
use crate::abi::{REQUEST_SAVE, REQUEST_STOP, REQUEST_VALIDATE};
use crate::error::Result;

/// Requests. The loop serves them at fixed places, so a request never interrupts an iteration.
impl Trainer {
    /// Requests that the run ends at the next boundary: after the current iteration, or after the current validation. A checkpoint is saved first.
    ///
    /// The outcome is [`Outcome::Stopped`](crate::Outcome::Stopped), with exit code 0. `why` is shown to the user; if several hooks request a stop, the first reason is kept.
    /// On several ranks, a request on any rank stops all of them.
    pub fn request_stop(&mut self, why: &str) -> Result<()> {
        self.host.request(REQUEST_STOP, why)
    }

    /// Requests a validation after the current iteration; in the last iteration of an epoch, after the epoch.
    ///
    /// Several requests before that are one. Ignored if the config has no `[data.val]`.
    pub fn request_validation(&mut self) -> Result<()> {
        self.host.request(REQUEST_VALIDATE, "")
    }

    /// Requests a checkpoint after the current iteration and its validation; in the last iteration of an epoch, after the epoch.
    ///
    /// Several requests before that are one. Training continues while the files are written. Ignored if the run has no directory.
    pub fn request_checkpoint(&mut self) -> Result<()> {
        self.host.request(REQUEST_SAVE, "")
    }
}
