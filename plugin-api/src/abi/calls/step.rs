//! How a training step is made.

use super::Host;
use crate::abi::{STEP, StepTable};
use crate::error::{Error, Result};

impl Host {
    fn step_table(self) -> Result<&'static StepTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(STEP).cast::<StepTable>().as_ref() }
            .ok_or_else(|| Error::new(format!("this host is older than `{STEP}`")))
    }

    /// Turns anomaly mode on or off.
    pub fn set_anomaly_mode(self, on: bool) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.step_table()?.set_anomaly_mode)(self.raw(), u32::from(on)) })
    }

    /// Sets into how many micro-batches a batch is cut.
    pub fn set_accumulation(self, parts: u64) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.step_table()?.set_accumulation)(self.raw(), parts) })
    }
}
