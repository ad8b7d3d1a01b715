//! Saving the state of hooks and metrics in checkpoints, and restoring it.

use crate::abi::{Host, HrStateReader, HrStateWriter, HrStatus};
use crate::error::{Error, Result};
use crate::tensor::{AsTensors, Tensor, TensorList};
use crate::value::{Value, from_value};
use serde::de::DeserializeOwned;

/// Receives the state of a hook or metric for a checkpoint. Keys are local to the instance.
///
/// The host copies tensors when the checkpoint is taken and writes them in the background, so a hook may change them as soon as `save_state` has returned.
pub struct StateWriter<'a> {
    host: Host,
    wire: &'a HrStateWriter,
}

impl<'a> StateWriter<'a> {
    pub(crate) fn new(host: Host, wire: &'a HrStateWriter) -> Self {
        Self { host, wire }
    }

    fn check(&self, key: &str, status: HrStatus) -> Result<()> {
        let _ = self.host;
        if status == HrStatus::OK {
            Ok(())
        } else {
            Err(Error::new(format!("the host could not save `{key}`")))
        }
    }

    /// Saves a value: a number, a boolean, a string, a list or a table, nested up to 100 deep.
    ///
    /// # Errors
    /// The value cannot be saved.
    pub fn put(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        self.check(key, self.wire.value(key, &value.into()))
    }

    /// Saves the contents of a tensor.
    ///
    /// # Errors
    /// The tensor is sparse, quantized or complex, or its handle is no longer valid.
    pub fn put_tensor(&mut self, key: &str, tensor: &Tensor) -> Result<()> {
        self.check(key, self.wire.tensor(key, tensor.id()))
    }

    /// Saves the contents of each tensor of a list, as `key.0`, `key.1`, …
    pub fn put_tensors(&mut self, key: &str, tensors: &impl AsTensors) -> Result<()> {
        for (i, id) in tensors.ids().iter().enumerate() {
            let key = format!("{key}.{i}");
            self.check(&key, self.wire.tensor(&key, *id))?;
        }
        Ok(())
    }
}

/// The saved state of a hook or metric.
pub struct StateReader<'a> {
    host: Host,
    wire: &'a HrStateReader,
}

impl<'a> StateReader<'a> {
    pub(crate) fn new(host: Host, wire: &'a HrStateReader) -> Self {
        Self { host, wire }
    }

    /// Whether a value was saved under this key.
    pub fn has(&self, key: &str) -> bool {
        self.wire.read_value(key).is_some()
    }

    /// A saved value.
    ///
    /// # Errors
    /// It was not saved, or has another type.
    pub fn value<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        let value =
            self.wire.read_value(key).ok_or_else(|| Error::new(format!("no `{key}` was saved")))?;
        from_value(value).map_err(|e| Error::from(e).context(format!("saved `{key}`")))
    }

    /// A saved tensor, which belongs to the caller.
    ///
    /// # Errors
    /// It was not saved.
    pub fn tensor(&self, key: &str) -> Result<Tensor> {
        match self.wire.read_tensor(key) {
            (HrStatus::OK, id) => Ok(Tensor::owned(self.host, id)),
            _ => Err(Error::new(format!("no tensor `{key}` was saved"))),
        }
    }

    /// A saved list of tensors; empty if none was saved.
    pub fn tensors(&self, key: &str) -> TensorList {
        let mut ids = Vec::new();
        while let (HrStatus::OK, id) = self.wire.read_tensor(&format!("{key}.{}", ids.len())) {
            ids.push(id);
        }
        TensorList::owned(self.host, ids)
    }
}
