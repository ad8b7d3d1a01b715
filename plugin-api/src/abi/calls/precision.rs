//! The precision of a run.

use super::Host;
use super::wire::call;
use crate::abi::PrecisionTable;
use crate::error::Result;

impl Host {
    /// Sets the precision.
    pub fn set_precision(self, precision: u32) -> Result<()> {
        call!(self, self.require::<PrecisionTable>()?, set_precision(precision))
    }

    /// Restarts loss scaling with new settings.
    pub fn set_loss_scaling(
        self,
        scale: f64,
        growth: f64,
        backoff: f64,
        interval: u64,
    ) -> Result<()> {
        let table = self.require::<PrecisionTable>()?;
        call!(self, table, set_loss_scaling(scale, growth, backoff, interval))
    }
}
