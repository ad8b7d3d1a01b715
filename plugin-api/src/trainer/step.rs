//! How a training step is made.

use super::Trainer;
use crate::error::Result;

/// How a training step is made.
impl Trainer {
    /// Turns anomaly mode on or off: while it is on, a backward pass that makes a NaN fails and names the function.
    /// Everything is about 150 times slower meanwhile.
    pub fn set_anomaly_mode(&mut self, on: bool) -> Result<()> {
        self.host.set_anomaly_mode(on)
    }

    /// Cuts batches into so many micro-batches, from the next iteration on. The gradients are those of the whole batch
    /// either way.
    pub fn set_accumulation(&mut self, parts: u64) -> Result<()> {
        self.host.set_accumulation(parts)
    }
}
