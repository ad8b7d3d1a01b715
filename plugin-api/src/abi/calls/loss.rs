//! The weight of the loss.

use super::Host;
use super::wire::call;
use crate::abi::LossTable;
use crate::error::Result;

impl Host {
    /// The denominator of the current mean loss; `None` if the host is too old.
    pub fn loss_weight(self) -> Result<Option<f64>> {
        let Some(table) = self.find::<LossTable>() else { return Ok(None) };
        call!(self, table, weight() -> 0.0).map(Some)
    }
}
