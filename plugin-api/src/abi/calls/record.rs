//! Every value of a scalar.

use super::Host;
use super::wire::call;
use crate::abi::RecordTable;
use crate::error::Result;

impl Host {
    /// Writes the scalars of the current iteration to the files.
    pub fn record_events(self) -> Result<()> {
        call!(self, self.require::<RecordTable>()?, record())
    }
}
