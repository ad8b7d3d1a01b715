//! The arithmetic of a run.

use super::Host;
use crate::abi::{PRECISION, PrecisionTable};
use crate::error::{Error, Result};

impl Host {
    fn precision_table(self) -> Result<&'static PrecisionTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(PRECISION).cast::<PrecisionTable>().as_ref() }
            .ok_or_else(|| Error::new(format!("this host is older than `{PRECISION}`")))
    }

    /// Chooses the precision.
    pub fn set_precision(self, precision: u32) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.precision_table()?.set_precision)(self.raw(), precision) })
    }

    /// Begins loss scaling anew.
    pub fn set_loss_scaling(
        self,
        scale: f64,
        growth: f64,
        backoff: f64,
        interval: u64,
    ) -> Result<()> {
        let table = self.precision_table()?;
        // SAFETY: plain numbers.
        self.check(unsafe {
            (table.set_loss_scaling)(self.raw(), scale, growth, backoff, interval)
        })
    }
}
