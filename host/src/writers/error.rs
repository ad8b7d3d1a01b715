//! Why a writer could not be opened.

use crate::run::{PathError, RunDirError};
use std::path::PathBuf;
use thiserror::Error;

/// Why a writer could not be opened.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum OpenError {
    #[error("unknown writer `{kind}`; available: {}", super::kinds())]
    Unknown { kind: String },
    /// A folder that is not for hooks.
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("{name} is open in `{}` already: a run can have only one", open.display())]
    Elsewhere { name: &'static str, open: PathBuf },
    /// Its file could not be created.
    #[error(transparent)]
    Files(#[from] RunDirError),
}
