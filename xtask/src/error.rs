//! The one error a command ends with; each stage has its own enum below it.

use std::path::PathBuf;

use crate::{
    compiler::CompilerError, dist::DistError, files::FileError, libtorch::LibtorchError,
    metadata::MetadataError, process::ProcessError, testing::TestsFailed,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    #[error(transparent)]
    Dist(#[from] DistError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Libtorch(#[from] LibtorchError),
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Tests(#[from] TestsFailed),
    #[error(
        "package `{package}` is not in the workspace; it is expected in `{folder}/` and listed in the \
         `members` of Cargo.toml"
    )]
    NoPackage { package: &'static str, folder: &'static str },
    #[error("{} has sha256 {found}, expected {wanted}", path.display())]
    OtherData { path: PathBuf, wanted: String, found: String },
    #[error("`cargo xtask netns` needs {what}")]
    NoNamespaces { what: &'static str },
    #[error("rank {rank} of {host}: {what}; its output:\n{said}")]
    Rank { rank: usize, host: String, what: String, said: String },
    #[error("unknown reader `{name}`; must be one of {all}")]
    NoReader { name: String, all: String },
    #[error(
        "{count} findings, saved as regression tests; fix the readers and commit them:\n  {files}"
    )]
    Findings { count: usize, files: String },
    #[error("{failed} of {all} checks failed: {names}")]
    Checks { failed: usize, all: usize, names: String },
}
