//! Tensors by name: from files, and shared between hooks.

use super::Trainer;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use std::path::Path;

/// Tensors by name (extension `hookrack.named_tensors/1`). A host before ABI 1.2 returns an error.
impl Trainer {
    /// Reads all tensors of a safetensors file, of a sharded one by its index, or of the model in a
    /// checkpoint or run directory.
    ///
    /// They are on the CPU, in the order of their names, those of a sharded file one file after the other,
    /// and belong to the caller. A setting of type `PathBuf` is already absolute; any other relative path is
    /// relative to the working directory. Reads the whole file, and all files of a checkpoint to verify them:
    /// call it in `on_attach` or `before_train`. On several ranks each one reads it.
    ///
    /// # Errors
    /// The file does not exist or cannot be read; the message has the path. A file is damaged, or has a dtype
    /// that libtorch lacks. The path is not UTF-8.
    pub fn load_tensors(&mut self, path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
        let path = path.as_ref();
        let text = path.to_str();
        let text = text.ok_or_else(|| Error::new(format!("{} is not UTF-8", path.display())))?;
        let tensors = self.host.load_tensors(text)?;
        Ok(tensors.into_iter().map(|(name, id)| (name, Tensor::owned(self.host, id))).collect())
    }

    /// Shares a tensor with other hooks under a name, replacing a previous one.
    ///
    /// The tensor is not copied: detach it if it should not keep its graph alive. It stays until it is
    /// removed or the run ends, and is not saved in checkpoints. Every hook sees the same names, which are
    /// not those of [`put_state`](Self::put_state). A tensor of the batch may be shared: its memory then
    /// stays after the iteration.
    pub fn put_state_tensor(&mut self, key: &str, tensor: &Tensor) -> Result<()> {
        self.host.put_state_tensor(key, tensor.id())
    }

    /// Returns a tensor shared by a hook; `None` if there is none. Returns a handle, not a copy.
    ///
    /// The handle belongs to the caller and stays valid when the tensor is removed or replaced. A change in
    /// place is seen by all hooks that have the tensor; a tensor of the run that was shared still
    /// [counts as that one](Tensor#what-belongs-to-the-run).
    pub fn state_tensor(&self, key: &str) -> Result<Option<Tensor>> {
        Ok(self.host.state_tensor(key)?.map(|id| Tensor::owned(self.host, id)))
    }

    /// Removes a shared tensor and returns whether there was one. Handles that hooks have stay valid.
    pub fn remove_state_tensor(&mut self, key: &str) -> Result<bool> {
        self.host.remove_state_tensor(key)
    }
}
