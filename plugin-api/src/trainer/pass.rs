//! Passes of hooks over data.

use super::Trainer;
use crate::error::Result;
use crate::phase::Phase;
use crate::tensor::Tensor;

/// Passes of hooks over data (extension `hookrack.pass/1`).
impl Trainer {
    /// Starts a pass over the data of a phase and returns its number of batches; `None` if the config has no data for the phase.
    ///
    /// Samples come in the order of the config, with their transforms. The position of the run in its own data does not change. There is
    /// one such pass at a time in a run: starting another, also by another hook, ends it.
    pub fn begin_pass(&mut self, phase: Phase) -> Result<Option<u64>> {
        self.host.begin_pass(phase.code())
    }

    /// Returns the next batch of the pass, input and label; `None` after the last.
    ///
    /// Loads the batch now, on the training thread. Both tensors belong to the caller and are freed when dropped.
    pub fn next_of_pass(&mut self) -> Result<Option<(Tensor, Tensor)>> {
        let batch = self.host.next_of_pass()?;
        Ok(batch.map(|batch| batch.map(|id| Tensor::owned(self.host, id)).into()))
    }

    /// Runs the model on an input without recording gradients, in training mode (which updates running statistics) or in evaluation mode, regardless of the phase.
    pub fn forward_in(&mut self, input: &Tensor, training: bool) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.forward_in(input.id(), training)?))
    }
}
