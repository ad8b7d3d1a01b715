//! Tensors by name: from files, and shared between hooks.

use super::Trainer;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use std::path::Path;

/// Tensors by name: the extension `hookrack.named_tensors/1`, which an older host answers with an error.
impl Trainer {
    /// Reads the tensors of a safetensors file, of its index, or of the model in a checkpoint or run directory, in the
    /// order of the file. They are on the CPU and yours. A setting of type `PathBuf` is an absolute path already; another
    /// relative one is one of the working directory.
    ///
    /// # Errors
    /// Nothing is there, or it cannot be read; the message names path and byte.
    pub fn load_tensors(&mut self, path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
        let path = path.as_ref();
        let text = path.to_str();
        let text = text.ok_or_else(|| Error::new(format!("{} is not UTF-8", path.display())))?;
        let tensors = self.host.load_tensors(text)?;
        Ok(tensors.into_iter().map(|(name, id)| (name, Tensor::owned(self.host, id))).collect())
    }

    /// Shares a tensor with other hooks under a name, in place of one that was there. No copy: detach what should not keep
    /// its graph alive. It stays until it is removed or the run ends, and is not part of a checkpoint.
    pub fn put_state_tensor(&mut self, key: &str, tensor: &Tensor) -> Result<()> {
        self.host.put_state_tensor(key, tensor.id())
    }

    /// A tensor that a hook has shared; `None` if there is none.
    pub fn state_tensor(&self, key: &str) -> Result<Option<Tensor>> {
        Ok(self.host.state_tensor(key)?.map(|id| Tensor::owned(self.host, id)))
    }

    /// Removes a shared tensor; false where there was none.
    pub fn remove_state_tensor(&mut self, key: &str) -> Result<bool> {
        self.host.remove_state_tensor(key)
    }
}
