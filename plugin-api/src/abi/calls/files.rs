//! Files of the run directory.

use super::Host;
use crate::abi::{ARTIFACTS, ArtifactTable, HrStr, HrTensor};
use crate::error::Result;

impl Host {
    fn artifacts(self) -> Option<&'static ArtifactTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        unsafe { self.extension(ARTIFACTS).cast::<ArtifactTable>().as_ref() }
    }

    /// The run directory.
    pub fn run_dir(self) -> Option<std::path::PathBuf> {
        let table = self.artifacts()?;
        // SAFETY: the text is lent for the run and copied here.
        let dir = unsafe { (table.run_dir)(self.raw()).to_lossy() };
        (!dir.is_empty()).then(|| dir.into_owned().into())
    }

    /// Writes tensors to a file of the run directory.
    pub fn save_tensors(self, file: &str, names: &[String], tensors: &[HrTensor]) -> Result<()> {
        let Some(table) = self.artifacts() else {
            crate::bail!("this host is older than `{ARTIFACTS}`: it keeps no files for hooks");
        };
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
