//! Every value of a scalar.

use super::Host;
use super::wire::call;
use crate::abi::RecordTable;
use crate::error::Result;

impl Host {
    /// Has the files take down the scalars of the current iteration.
    pub fn record_events(self) -> Result<()> {
        call!(self, self.require::<RecordTable>()?, record())
    }
}
