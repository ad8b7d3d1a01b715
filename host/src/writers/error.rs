//! Why a writer could not be opened.

use crate::run::{PathError, RunDirError};
use std::path::PathBuf;
use thiserror::Error;

/// Why a writer could not be opened.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    /// The kind is unknown.
    #[error("unknown writer `{kind}`; available: {}", super::kinds())]
    Unknown { kind: String },
    /// A folder that is not for hooks.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It is open already.
    #[error("{name} is open in `{}` already: a run can have only one", open.display())]
    Elsewhere { name: &'static str, open: PathBuf },
    /// Its file could not be created.
    #[error(transparent)]
    Files(#[from] RunDirError),
}
