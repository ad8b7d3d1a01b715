//! Passes of hooks over data.

use super::Trainer;
use crate::error::Result;
use crate::phase::Phase;
use crate::tensor::Tensor;

/// Passes of hooks over data (extension `hookrack.pass/1`). A host before ABI 1.1 returns an error.
impl Trainer {
    /// Starts a pass over the data of a phase and returns its number of batches; `None` if the config has no
    /// data for the phase.
    ///
    /// Samples come in the order of the config, with their transforms. The position of the run in its own
    /// data does not change. There is one such pass at a time in a run: starting another, also by another
    /// hook, ends it.
    ///
    /// Every pass has the order and the random transforms of the first epoch. On several ranks a rank gets
    /// its rows of each training batch, and whole batches in turn of other data: the number is that of its
    /// own batches, which may differ between ranks. Reads no sample yet.
    pub fn begin_pass(&mut self, phase: Phase) -> Result<Option<u64>> {
        self.host.begin_pass(phase.code())
    }

    /// Returns the next batch of the pass, input and label; `None` after the last, and if no pass was
    /// started.
    ///
    /// Loads the batch now, on the training thread, without the config's worker threads. Both tensors belong
    /// to the caller and are freed when dropped.
    ///
    /// # Errors
    /// A sample cannot be read.
    pub fn next_of_pass(&mut self) -> Result<Option<(Tensor, Tensor)>> {
        let batch = self.host.next_of_pass()?;
        Ok(batch.map(|batch| batch.map(|id| Tensor::owned(self.host, id)).into()))
    }

    /// Runs the model on an input without recording gradients, in training mode (which updates running
    /// statistics) or in evaluation mode, regardless of the phase.
    ///
    /// Takes as long as a forward pass. The output belongs to the caller; the current output does not change.
    /// Training mode also draws the numbers of dropout.
    ///
    /// # Errors
    /// The model does not take the input, or this rank has a stage of a pipeline. In training mode with
    /// `distributed.sync_batch_norm`, the hook does not run on all ranks.
    pub fn forward_in(&self, input: &Tensor, training: bool) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.forward_in(input.id(), training)?))
    }
}
