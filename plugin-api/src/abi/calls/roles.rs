//! The training forward role, run by another hook, and the configured loss.

use super::Host;
use super::wire::call;
use crate::abi::{HrTensor, RoleTable};
use crate::error::Result;

impl Host {
    /// Runs the training forward role.
    pub fn train_forward(self) -> Result<()> {
        call!(self, self.require::<RoleTable>()?, train_forward())
    }

    /// The configured loss of two tensors.
    pub fn criterion_of(self, output: HrTensor, label: HrTensor) -> Result<HrTensor> {
        call!(self, self.require::<RoleTable>()?, criterion_of(output, label) -> HrTensor::NONE)
    }
}
