//! The learning rate schedule.

use super::Host;
use super::wire::call;
use crate::abi::LrTable;
use crate::error::Result;

impl Host {
    /// Sets whether the learning rate schedule counts epochs or iterations.
    pub fn count_lr_by_epoch(self, by_epoch: bool) -> Result<()> {
        call!(self, self.require::<LrTable>()?, count_by_epoch(by_epoch))
    }
}
