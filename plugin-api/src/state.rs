//! Saving the state of hooks and metrics in checkpoints, and restoring it.

use crate::abi::{Host, HrStateReader, HrStateWriter, HrStatus};
use crate::error::{Error, Result};
use crate::tensor::{AsTensors, Tensor, TensorList};
use crate::value::{Value, from_value};
use serde::de::DeserializeOwned;

/// Receives the state of a hook or metric for a checkpoint. Keys are local to the instance.
///
/// The host copies tensors when the checkpoint is taken and writes them in the background, so a hook may
/// change them once `save_state` has returned, but not before. The training
/// thread waits for the copy: state that is as large as the model takes as long as the model.
///
/// If a key is put twice, the last value counts. Values and tensors have separate keys. In a pipeline, name
/// tensors after parameters (`average.fc.weight`) to have each stage save its own.
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

    /// Saves a value: a number, a boolean, a string, a list or a table, nested up to 100 deep. NaN and
    /// infinities come back as they are.
    ///
    /// The value is copied. For large data use tensors, which are not converted to text.
    ///
    /// # Errors
    /// The value cannot be saved: it is nested too deep, or the values of this instance exceed 64 MiB
    /// together. `save_state` then counts as failed, whether it returns the error or not.
    pub fn put(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        self.check(key, self.wire.value(key, &value.into()))
    }

    /// Saves the contents of a tensor.
    ///
    /// Takes a handle; nothing is copied now. The tensor may be on any device and need not be contiguous.
    ///
    /// # Errors
    /// The tensor is sparse, quantized or complex, or its handle is no longer valid. `save_state` then counts
    /// as failed, whether it returns the error or not.
    pub fn put_tensor(&mut self, key: &str, tensor: &Tensor) -> Result<()> {
        self.check(key, self.wire.tensor(key, tensor.id()))
    }

    /// Saves the contents of each tensor of a list, as `key.0`, `key.1`, …
    ///
    /// # Errors
    /// As for [`put_tensor`](Self::put_tensor); also if a tensor of the list is absent.
    pub fn put_tensors(&mut self, key: &str, tensors: &impl AsTensors) -> Result<()> {
        for (i, id) in tensors.ids().iter().enumerate() {
            let key = format!("{key}.{i}");
            self.check(&key, self.wire.tensor(&key, *id))?;
        }
        Ok(())
    }
}

/// The saved state of a hook or metric. Valid during `load_state` or `merge`.
pub struct StateReader<'a> {
    host: Host,
    wire: &'a HrStateReader,
}

impl<'a> StateReader<'a> {
    pub(crate) fn new(host: Host, wire: &'a HrStateReader) -> Self {
        Self { host, wire }
    }

    /// Returns whether a value was saved under this key; false for a tensor. Copies the value.
    pub fn has(&self, key: &str) -> bool {
        self.wire.read_value(key).is_some()
    }

    /// Returns a saved value, converted to `T`. Allocates.
    ///
    /// # Errors
    /// It was not saved, or has another type.
    pub fn value<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        let value =
            self.wire.read_value(key).ok_or_else(|| Error::new(format!("no `{key}` was saved")))?;
        from_value(value).map_err(|e| Error::from(e).context(format!("saved `{key}`")))
    }

    /// Returns a saved tensor, which belongs to the caller.
    ///
    /// It is a copy on the CPU, whatever device it was saved from: [`to_device`](Tensor::to_device) moves it.
    ///
    /// # Errors
    /// It was not saved.
    pub fn tensor(&self, key: &str) -> Result<Tensor> {
        match self.wire.read_tensor(key) {
            (HrStatus::OK, id) => Ok(Tensor::owned(self.host, id)),
            _ => Err(Error::new(format!("no tensor `{key}` was saved"))),
        }
    }

    /// Returns a saved list of tensors, on the CPU; empty if none was saved. A list ends before the first
    /// number that is missing.
    pub fn tensors(&self, key: &str) -> TensorList {
        let mut ids = Vec::new();
        while let (HrStatus::OK, id) = self.wire.read_tensor(&format!("{key}.{}", ids.len())) {
            ids.push(id);
        }
        TensorList::owned(self.host, ids)
    }
}
