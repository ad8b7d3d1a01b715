//! Settings of the training step.

use super::Trainer;
use crate::error::Result;

/// Settings of the training step (extension `hookrack.step/1`).
impl Trainer {
    /// Turns anomaly mode on or off: while it is on, a backward pass that produces NaN fails with the name of the function. Training is then about 150 times slower.
    pub fn set_anomaly_mode(&mut self, on: bool) -> Result<()> {
        self.host.set_anomaly_mode(on)
    }

    /// Sets the number of micro-batches per batch, from the next iteration on. The gradients are those of the whole batch in any case.
    ///
    /// # Errors
    /// `parts` is 0.
    pub fn set_accumulation(&mut self, parts: u64) -> Result<()> {
        self.host.set_accumulation(parts)
    }
}
