//! Whether gradients are recorded.

use super::Host;
use super::wire::call;
use crate::abi::AutogradTable;
use crate::error::Result;

impl Host {
    /// Turns gradient recording on or off, and returns the previous mode.
    pub fn set_recording(self, on: bool) -> Result<bool> {
        let was = call!(self, self.require::<AutogradTable>()?, set_recording(on) -> 0)?;
        Ok(was != 0)
    }
}
