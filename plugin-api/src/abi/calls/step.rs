//! How a training step is made.

use super::Host;
use super::wire::call;
use crate::abi::StepTable;
use crate::error::Result;

impl Host {
    /// Turns anomaly mode on or off.
    pub fn set_anomaly_mode(self, on: bool) -> Result<()> {
        call!(self, self.require::<StepTable>()?, set_anomaly_mode(on))
    }

    /// Sets into how many micro-batches a batch is cut.
    pub fn set_accumulation(self, parts: u64) -> Result<()> {
        call!(self, self.require::<StepTable>()?, set_accumulation(parts))
    }
}
