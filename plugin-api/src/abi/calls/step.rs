//! Settings of the training step.

use super::Host;
use super::wire::call;
use crate::abi::StepTable;
use crate::error::Result;

impl Host {
    /// Turns anomaly mode on or off.
    pub fn set_anomaly_mode(self, on: bool) -> Result<()> {
        call!(self, self.require::<StepTable>()?, set_anomaly_mode(on))
    }

    /// Sets the number of micro-batches per batch.
    pub fn set_accumulation(self, parts: u64) -> Result<()> {
        call!(self, self.require::<StepTable>()?, set_accumulation(parts))
    }
}
