//! Every value of a scalar.

use super::Host;
use crate::abi::{RECORD, RecordTable};
use crate::error::{Error, Result};

impl Host {
    /// Has the files take down the scalars of the current iteration.
    pub fn record_events(self) -> Result<()> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(RECORD).cast::<RecordTable>().as_ref() };
        let table =
            table.ok_or_else(|| Error::new(format!("this host is older than `{RECORD}`")))?;
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (table.record)(self.raw()) })
    }
}
