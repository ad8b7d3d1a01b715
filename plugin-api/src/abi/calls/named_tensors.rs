//! Tensors by name.

use super::Host;
use super::wire::call;
use crate::abi::{HrStr, HrTensor, NamedTensorTable};
use crate::error::Result;

impl Host {
    /// Reads the tensors at a path, by name.
    pub fn load_tensors(self, path: &str) -> Result<Vec<(String, HrTensor)>> {
        let table = self.require::<NamedTensorTable>()?;
        let count = call!(self, table, load(path) -> 0)?;
        let mut tensors = Vec::with_capacity(count);
        for index in 0..count {
            let (mut name, mut tensor) = (HrStr::EMPTY, HrTensor::NONE);
            // SAFETY: the host writes one text and one handle; the text is copied at once.
            self.check(unsafe { (table.take)(self.raw(), index, &raw mut name, &raw mut tensor) })?;
            // SAFETY: as above.
            tensors.push((unsafe { name.to_lossy() }.into_owned(), tensor));
        }
        Ok(tensors)
    }

    /// Shares a tensor.
    pub fn put_state_tensor(self, key: &str, tensor: HrTensor) -> Result<()> {
        call!(self, self.require::<NamedTensorTable>()?, put(key, tensor))
    }

    /// A shared tensor.
    pub fn state_tensor(self, key: &str) -> Result<Option<HrTensor>> {
        call!(self, self.require::<NamedTensorTable>()?, tensor(key) -> Option(HrTensor::NONE))
    }

    /// Removes a shared tensor; false if there was none.
    pub fn remove_state_tensor(self, key: &str) -> Result<bool> {
        let table = self.require::<NamedTensorTable>()?;
        // SAFETY: the key is lent until the call returns.
        let status = unsafe { (table.remove)(self.raw(), HrStr::new(key)) };
        Ok(self.present(status, ())?.is_some())
    }
}
