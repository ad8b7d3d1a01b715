//! Additional models.

use super::Host;
use super::wire::call;
use crate::abi::{HrTensor, ModelTable, WireTree};
use crate::error::Result;
use crate::value::Value;

impl Host {
    /// Builds a model.
    pub fn build_model(self, settings: &Value) -> Result<u64> {
        let (table, tree, mut model) = (self.require::<ModelTable>()?, WireTree::new(settings), 0);
        // SAFETY: the tree is lent until the call returns; the host writes one number.
        self.check(unsafe { (table.build)(self.raw(), tree.as_ptr(), &raw mut model) })?;
        Ok(model)
    }

    /// Runs an additional model.
    pub fn run_model(self, model: u64, input: HrTensor) -> Result<HrTensor> {
        call!(self, self.require::<ModelTable>()?, forward(model, input) -> HrTensor::NONE)
    }
}
