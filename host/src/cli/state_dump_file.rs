//! Where `train` writes the state of hooks for `verify-resume`.

use std::path::PathBuf;

/// The iteration `verify-resume` asks about, and the output file.
#[derive(Clone)]
pub(super) struct StateDumpFile {
    pub(super) at: u64,
    pub(super) file: PathBuf,
}

impl StateDumpFile {
    /// From `ITER:FILE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (at, file) = text.split_once(':').ok_or("expected ITER:FILE")?;
        Ok(Self { at: at.parse().map_err(|_| "expected ITER:FILE")?, file: file.into() })
    }
}
