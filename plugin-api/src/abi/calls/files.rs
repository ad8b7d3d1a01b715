//! Files of the run directory.

use super::Host;
use crate::abi::{ArtifactTable, FileTable, HrStr, HrTensor};
use crate::error::Result;

impl Host {
    /// The run directory.
    pub fn run_dir(self) -> Option<std::path::PathBuf> {
        let table = self.find::<ArtifactTable>()?;
        // SAFETY: the text is lent for the run and copied here.
        let dir = unsafe { (table.run_dir)(self.raw()).to_lossy() };
        (!dir.is_empty()).then(|| dir.into_owned().into())
    }

    /// Writes bytes to a file of the run directory.
    pub fn write_file(self, file: &str, bytes: &[u8]) -> Result<()> {
        let table = self.require::<FileTable>()?;
        // SAFETY: file and bytes are lent until the call returns.
        let status =
            unsafe { (table.write)(self.raw(), HrStr::new(file), bytes.as_ptr(), bytes.len()) };
        self.check(status)
    }

    /// Writes tensors to a file of the run directory.
    pub fn save_tensors(self, file: &str, names: &[String], tensors: &[HrTensor]) -> Result<()> {
        let table = self.require::<ArtifactTable>()?;
        crate::ensure!(
            names.len() == tensors.len(),
            "{} names for {} tensors",
            names.len(),
            tensors.len()
        );
        let lent: Vec<_> = names.iter().map(|name| HrStr::new(name)).collect();
        // SAFETY: file, names and handles are lent until the call returns.
        self.check(unsafe {
            (table.save_tensors)(
                self.raw(),
                HrStr::new(file),
                lent.as_ptr(),
                tensors.as_ptr(),
                lent.len(),
            )
        })
    }
}
