//! A hook's own pass over data.

use super::Trainer;
use crate::error::Result;
use crate::phase::Phase;
use crate::tensor::Tensor;

/// A pass of the hook's own over data: the extension `hookrack.pass/1`, which an older host answers with an error.
impl Trainer {
    /// Begins at the first batch of a phase's data, in their usual order and with their transforms, and says how many
    /// batches there are; `None` where the phase has no data. The run's own place in the data is left alone.
    pub fn begin_pass(&mut self, phase: Phase) -> Result<Option<u64>> {
        self.host.begin_pass(phase.code())
    }

    /// The next batch of that pass, input and label; `None` after the last.
    pub fn next_of_pass(&mut self) -> Result<Option<(Tensor, Tensor)>> {
        let batch = self.host.next_of_pass()?;
        Ok(batch.map(|batch| batch.map(|id| Tensor::owned(self.host, id)).into()))
    }

    /// Runs the model on an input without recording gradients: as in training, which moves running statistics, or as in
    /// an evaluation, whatever the phase of the run is.
    pub fn forward_in(&mut self, input: &Tensor, training: bool) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.forward_in(input.id(), training)?))
    }
}
