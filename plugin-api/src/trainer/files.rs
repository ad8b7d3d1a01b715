//! Files that a hook writes to the run directory.

use super::Trainer;
use crate::error::Result;
use crate::tensor::AsTensors;
use std::path::PathBuf;

/// Files in the run directory. Only rank 0 has it: on other ranks [`run_dir`](Self::run_dir) is `None`, and
/// writing is an error. `hookrack eval` and `hookrack predict` have none either.
///
/// Paths are relative to the run directory, without `.` and `..`. What the run itself writes there
/// (`checkpoints`, `config.toml`, `log.txt`, `metrics.json`, `run.json`, `report.html`, `ranks`, `earlier`,
/// `event_files.txt`) is refused.
impl Trainer {
    /// Returns the run directory; `None` if the run has none, or on a rank other than 0. Allocates.
    ///
    /// With `--fast-dev-run` it is removed at the end of the run.
    pub fn run_dir(&self) -> Option<PathBuf> {
        self.host.run_dir()
    }

    /// Writes a file in the run directory, such as `lr_finder.json` or `curves/roc.json`, atomically: it is
    /// complete and synced to disk when this returns. Folders are created, an existing file is replaced.
    ///
    /// The training thread waits for the disk, which takes milliseconds: not for every iteration. If writing
    /// fails, an existing file is unchanged.
    ///
    /// # Errors
    /// The path leaves the run directory or is one that the run itself writes, the run has no directory, the
    /// file cannot be written, or the host is older than ABI 1.2.
    pub fn write_file(&mut self, file: &str, contents: impl AsRef<[u8]>) -> Result<()> {
        self.host.write_file(file, contents.as_ref())
    }

    /// Writes tensors to a file in the run directory, such as `ema.safetensors`, atomically. Copies them to
    /// the CPU and waits for the disk.
    ///
    /// The whole file is in memory before it is written. In a pipeline it has the parameters of this rank's
    /// stage only, and the host warns.
    ///
    /// # Errors
    /// There are not as many names as tensors, or a tensor is absent, sparse, or of a dtype that safetensors
    /// does not have. The path leaves the run directory, is one that the run itself writes, or does not end
    /// in `.safetensors`; the run has no directory; or the file cannot be written.
    pub fn save_tensors(
        &mut self,
        file: &str,
        names: &[String],
        tensors: &impl AsTensors,
    ) -> Result<()> {
        self.host.save_tensors(file, names, tensors.ids())
    }
}
