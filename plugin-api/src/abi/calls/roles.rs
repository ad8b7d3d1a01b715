//! Roles that a hook has run.

use super::Host;
use super::wire::call;
use crate::abi::RoleTable;
use crate::error::Result;

impl Host {
    /// Has the training forward role run.
    pub fn train_forward(self) -> Result<()> {
        call!(self, self.require::<RoleTable>()?, train_forward())
    }
}
