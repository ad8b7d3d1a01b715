//! The progress line.

use super::Host;
use super::wire::call;
use crate::abi::{ConsoleTable, HrStr};
use crate::error::Result;

impl Host {
    /// Sets the scalars of the progress line.
    pub fn show_progress(self, names: &[String]) -> Result<()> {
        let table = self.require::<ConsoleTable>()?;
        let names: Vec<_> = names.iter().map(|name| HrStr::new(name)).collect();
        // SAFETY: the names are lent until the call returns.
        self.check(unsafe { (table.show)(self.raw(), names.as_ptr(), names.len()) })
    }

    /// Redraws the progress line.
    pub fn redraw_progress(self) -> Result<()> {
        call!(self, self.require::<ConsoleTable>()?, redraw())
    }
}
