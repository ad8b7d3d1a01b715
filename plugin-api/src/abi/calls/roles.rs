//! Roles that a hook has run, and parts of them.

use super::Host;
use crate::abi::{HrTensor, ROLES, RoleTable};
use crate::error::{Error, Result};

impl Host {
    fn roles(self) -> Result<&'static RoleTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(ROLES).cast::<RoleTable>().as_ref() }.ok_or_else(|| {
            Error::new(format!(
                "this host is older than `{ROLES}`: it cannot run another hook's role"
            ))
        })
    }

    /// Has the training forward role run.
    pub fn train_forward(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.roles()?.train_forward)(self.raw()) })
    }

    /// The configured loss of two tensors.
    pub fn criterion_of(self, output: HrTensor, label: HrTensor) -> Result<HrTensor> {
        let mut loss = HrTensor::NONE;
        // SAFETY: the host writes one handle.
        self.check(unsafe {
            (self.roles()?.criterion_of)(self.raw(), output, label, &raw mut loss)
        })?;
        Ok(loss)
    }
}
