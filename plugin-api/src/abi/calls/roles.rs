//! Roles that a hook has run.

use super::Host;
use crate::abi::{ROLES, RoleTable};
use crate::error::{Error, Result};

impl Host {
    /// Has the training forward role run.
    pub fn train_forward(self) -> Result<()> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(ROLES).cast::<RoleTable>().as_ref() };
        let table = table.ok_or_else(|| {
            Error::new(format!(
                "this host is older than `{ROLES}`: it cannot run another hook's role"
            ))
        })?;
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (table.train_forward)(self.raw()) })
    }
}
