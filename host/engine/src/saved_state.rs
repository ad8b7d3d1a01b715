//! What one part of a run keeps in a checkpoint: values and tensors by name.

use hookrack_plugin_api::Value;
use std::collections::BTreeMap;
use tch::Tensor;

/// The key of the names of frozen parameters, in the state of an engine.
pub(crate) const FROZEN: &str = "frozen";

/// What a hook, a metric or the engine keeps in a checkpoint.
#[derive(Debug, Default)]
pub struct SavedState {
    /// Its values.
    pub values: BTreeMap<String, Value>,
    /// Its tensors.
    pub tensors: BTreeMap<String, Tensor>,
}

impl SavedState {
    /// Records which parameters are frozen, in the state of an engine whose stage has only some of them.
    pub fn set_frozen(&mut self, names: Vec<String>) {
        let names = names.into_iter().map(Value::Str).collect();
        self.values.insert(FROZEN.to_owned(), Value::List(names));
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.tensors.is_empty()
    }
}
