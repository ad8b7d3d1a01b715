//! Settings of the training step.

use super::Trainer;
use crate::error::Result;

/// Settings of the training step (extension `hookrack.step/1`). They are not saved in checkpoints, and every
/// rank must make the same calls. A host before ABI 1.1 returns an error.
impl Trainer {
    /// Turns anomaly mode on or off: while it is on, a backward pass that produces NaN fails with the name of
    /// the function. Training is then about 150 times slower.
    ///
    /// It applies to the whole process until it is turned off.
    ///
    /// # Errors
    /// At a point that is not a role, the hook declares neither `mutates = "grads"` nor `"loss"`.
    pub fn set_anomaly_mode(&mut self, on: bool) -> Result<()> {
        self.host.set_anomaly_mode(on)
    }

    /// Sets the number of micro-batches per batch, from the next iteration on. The gradients are those of the
    /// whole batch in any case.
    ///
    /// On several ranks, batches that worker threads have prepared are discarded when the number changes.
    ///
    /// # Errors
    /// `parts` is 0, or not 1 in a pipeline, which has its own number. At a point that is not a role, the
    /// hook does not declare `mutates = "grads"`.
    pub fn set_accumulation(&mut self, parts: u64) -> Result<()> {
        self.host.set_accumulation(parts)
    }
}
