//! Gradients of any tensor.

use super::Host;
use crate::abi::{GradientTable, HrTensor};
use crate::error::Result;

impl Host {
    /// The gradients of a tensor with respect to others; none where it does not depend on one.
    pub fn gradients(
        self,
        of: HrTensor,
        inputs: &[HrTensor],
        create_graph: bool,
    ) -> Result<Vec<HrTensor>> {
        let table = self.table::<GradientTable>()?;
        let mut out = vec![HrTensor::NONE; inputs.len()];
        // SAFETY: the inputs are lent until the call returns; the host writes one handle for each.
        self.check(unsafe {
            let (row, count) = (inputs.as_ptr(), inputs.len());
            (table.compute)(self.raw(), of, row, count, create_graph.into(), out.as_mut_ptr())
        })?;
        Ok(out)
    }
}
