//! Whether gradients are recorded.

use super::Host;
use crate::abi::{AUTOGRAD, AutogradTable};
use crate::error::{Error, Result};

impl Host {
    /// Records gradients or not, and says how it was.
    pub fn set_recording(self, on: bool) -> Result<bool> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(AUTOGRAD).cast::<AutogradTable>().as_ref() };
        let table =
            table.ok_or_else(|| Error::new(format!("this host is older than `{AUTOGRAD}`")))?;
        let mut was = 0;
        // SAFETY: the host writes one number.
        self.check(unsafe { (table.set_recording)(self.raw(), u32::from(on), &raw mut was) })?;
        Ok(was != 0)
    }
}
