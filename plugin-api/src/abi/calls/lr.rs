//! The learning rate schedule.

use super::Host;
use crate::abi::{LR, LrTable};
use crate::error::{Error, Result};

impl Host {
    /// Says what the learning rate schedule counts.
    pub fn count_lr_by_epoch(self, by_epoch: bool) -> Result<()> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(LR).cast::<LrTable>().as_ref() };
        let table = table.ok_or_else(|| {
            Error::new(format!("this host is older than `{LR}`: the config alone says what counts"))
        })?;
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (table.count_by_epoch)(self.raw(), by_epoch.into()) })
    }
}
