//! What one part of a run keeps in a checkpoint: values and tensors by name.

use hookrack_plugin_api::Value;
use std::collections::BTreeMap;
use tch::Tensor;

/// What a hook, a metric or the engine keeps in a checkpoint.
#[derive(Debug, Default)]
pub struct SavedState {
    /// Its values.
    pub values: BTreeMap<String, Value>,
    /// Its tensors.
    pub tensors: BTreeMap<String, Tensor>,
}

impl SavedState {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.tensors.is_empty()
    }
}
