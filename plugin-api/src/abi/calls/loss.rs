//! What is known about the loss beside its value.

use super::Host;
use crate::abi::{LOSS, LossTable};
use crate::error::Result;

impl Host {
    /// What the mean of the current loss is taken over; `None` where the host is too old to say.
    pub fn loss_weight(self) -> Result<Option<f64>> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(LOSS).cast::<LossTable>().as_ref() };
        let Some(table) = table else { return Ok(None) };
        let mut weight = 0.0;
        // SAFETY: the host writes one number.
        self.check(unsafe { (table.weight)(self.raw(), &raw mut weight) })?;
        Ok(Some(weight))
    }
}
