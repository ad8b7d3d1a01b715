//! A hook's own pass over data.

use super::Host;
use super::wire::call;
use crate::abi::{HrTensor, PassTable};
use crate::error::Result;

impl Host {
    /// Starts a pass.
    pub fn begin_pass(self, phase: u32) -> Result<Option<u64>> {
        call!(self, self.require::<PassTable>()?, begin(phase) -> Option(0))
    }

    /// The next batch of the pass: input and label.
    pub fn next_of_pass(self) -> Result<Option<[HrTensor; 2]>> {
        let (table, mut batch) = (self.require::<PassTable>()?, [HrTensor::NONE; 2]);
        let [input, label] = &mut batch;
        // SAFETY: the host writes one handle to each place.
        let status = unsafe { (table.next)(self.raw(), input, label) };
        self.present(status, batch)
    }

    /// Runs the model without recording gradients.
    pub fn forward_in(self, input: HrTensor, training: bool) -> Result<HrTensor> {
        call!(self, self.require::<PassTable>()?, forward(input, training) -> HrTensor::NONE)
    }
}
