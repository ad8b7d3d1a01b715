//! Requests of a hook to the loop.

use super::Trainer;
use crate::abi::{REQUEST_SAVE, REQUEST_STOP, REQUEST_VALIDATE};
use crate::error::Result;

/// Requests. The loop serves them at fixed places, so a request never interrupts an iteration.
///
/// A call only sets a flag: it may be made at every point, any number of times. On several ranks a request on
/// any rank applies to all. `hookrack eval` and `hookrack predict` do not validate or save.
impl Trainer {
    /// Requests that the run ends at the next boundary: after the current iteration, or after the current
    /// validation. A checkpoint is saved first.
    ///
    /// The outcome is [`Outcome::Stopped`](crate::Outcome::Stopped), with exit code 0. `why` is shown to the
    /// user; if several hooks request a stop, the first reason is kept. On several ranks, a request on any
    /// rank stops all of them.
    ///
    /// A request in the middle of an epoch skips the rest of it, with `after_train_epoch` and `after_cycle`;
    /// in the last iteration the epoch is finished. Up to `before_train` it ends the run without an
    /// iteration. It cannot be withdrawn. `hookrack eval` and `hookrack predict` are not cut short.
    pub fn request_stop(&mut self, why: &str) -> Result<()> {
        self.host.request(REQUEST_STOP, why)
    }

    /// Requests a validation after the current iteration; in the last iteration of an epoch, after the epoch.
    ///
    /// Several requests before that count as one. Ignored if the config has no `[data.val]`. A requested
    /// checkpoint waits for it.
    pub fn request_validation(&mut self) -> Result<()> {
        self.host.request(REQUEST_VALIDATE, "")
    }

    /// Requests a checkpoint after the current iteration and its validation; in the last iteration of an
    /// epoch, after the epoch.
    ///
    /// Several requests before that count as one. Training continues while the files are written; it waits for the
    /// copy of all tensors in memory, and for the previous checkpoint if that is not complete yet. Ignored if
    /// the run has no directory. Of the checkpoints that this hook requested,
    /// [`keep_checkpoints`](Self::keep_checkpoints) decides which are kept.
    pub fn request_checkpoint(&mut self) -> Result<()> {
        self.host.request(REQUEST_SAVE, "")
    }
}
