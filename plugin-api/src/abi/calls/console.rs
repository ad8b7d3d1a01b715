//! The progress line.

use super::Host;
use crate::abi::{CONSOLE, ConsoleTable, HrStr};
use crate::error::{Error, Result};

impl Host {
    fn console(self) -> Result<&'static ConsoleTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(CONSOLE).cast::<ConsoleTable>().as_ref() }
            .ok_or_else(|| Error::new(format!("this host is older than `{CONSOLE}`")))
    }

    /// Says which scalars the progress line shows.
    pub fn show_progress(self, names: &[String]) -> Result<()> {
        let names: Vec<_> = names.iter().map(|name| HrStr::new(name)).collect();
        // SAFETY: the names are lent until the call returns.
        self.check(unsafe { (self.console()?.show)(self.raw(), names.as_ptr(), names.len()) })
    }

    /// Has the progress line drawn anew.
    pub fn redraw_progress(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.console()?.redraw)(self.raw()) })
    }
}
