//! Files that a hook leaves.

use super::Trainer;
use crate::error::Result;
use crate::tensor::AsTensors;
use std::path::PathBuf;

/// Files.
impl Trainer {
    /// The run directory; `None` where the run leaves none.
    pub fn run_dir(&self) -> Option<PathBuf> {
        self.host.run_dir()
    }

    /// Writes tensors to a file of the run directory, such as `ema.safetensors`: whole or not at all.
    pub fn save_tensors(
        &mut self,
        file: &str,
        names: &[String],
        tensors: &impl AsTensors,
    ) -> Result<()> {
        self.host.save_tensors(file, names, tensors.ids())
    }
}
