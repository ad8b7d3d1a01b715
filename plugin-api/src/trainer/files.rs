//! Files that a hook writes to the run directory.

use super::Trainer;
use crate::error::Result;
use crate::tensor::AsTensors;
use std::path::PathBuf;

/// Files in the run directory. With several ranks only rank 0 should write, since all share one run directory.
impl Trainer {
    /// The run directory; `None` if the run has none.
    pub fn run_dir(&self) -> Option<PathBuf> {
        self.host.run_dir()
    }

    /// Writes a file in the run directory, such as `lr_finder.json` or `curves/roc.json`, atomically: it is complete and synced
    /// to disk when this returns. Folders are created, an existing file is replaced.
    ///
    /// # Errors
    /// The path leaves the run directory, the run has none, the file cannot be written, or the host is older than ABI 1.2.
    pub fn write_file(&mut self, file: &str, contents: impl AsRef<[u8]>) -> Result<()> {
        self.host.write_file(file, contents.as_ref())
    }

    /// Writes tensors to a file in the run directory, such as `ema.safetensors`, atomically. Copies them to the CPU and waits for the disk.
    ///
    /// # Errors
    /// The path leaves the run directory or does not end in `.safetensors`, the run has no directory, or the file cannot be
    /// written.
    pub fn save_tensors(
        &mut self,
        file: &str,
        names: &[String],
        tensors: &impl AsTensors,
    ) -> Result<()> {
        self.host.save_tensors(file, names, tensors.ids())
    }
}
