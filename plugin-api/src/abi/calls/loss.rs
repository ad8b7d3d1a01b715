//! What is known about the loss beside its value.

use super::Host;
use super::wire::call;
use crate::abi::LossTable;
use crate::error::Result;

impl Host {
    /// What the mean of the current loss is taken over; `None` where the host is too old to say.
    pub fn loss_weight(self) -> Result<Option<f64>> {
        let Some(table) = self.find::<LossTable>() else { return Ok(None) };
        call!(self, table, weight() -> 0.0).map(Some)
    }
}
