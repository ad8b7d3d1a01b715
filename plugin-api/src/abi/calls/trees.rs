//! Calls with trees of values.

use super::Host;
use crate::abi::{HrStr, ModelTable, StateTable, WireTree};
use crate::error::Result;
use crate::value::Value;

impl Host {
    /// Sets a shared value.
    pub fn put_state(self, key: &str, value: &Value) -> Result<()> {
        let (table, tree) = (self.handle_table::<StateTable>(), WireTree::new(value));
        // SAFETY: key and tree are lent until the call returns.
        self.check(unsafe { (table.put)(self.raw(), HrStr::new(key), tree.as_ptr()) })
    }

    /// A shared value.
    pub fn state(self, key: &str) -> Option<Value> {
        let table = self.handle_table::<StateTable>();
        // SAFETY: the key is lent until the call returns; the tree is copied before the next call.
        unsafe { (table.value)(self.raw(), HrStr::new(key)).as_ref()?.to_value() }
    }

    /// Builds a model.
    pub fn build_model(self, settings: &Value) -> Result<u64> {
        let (table, tree, mut model) = (self.table::<ModelTable>()?, WireTree::new(settings), 0);
        // SAFETY: the tree is lent until the call returns; the host writes one number.
        self.check(unsafe { (table.build)(self.raw(), tree.as_ptr(), &raw mut model) })?;
        Ok(model)
    }
}
