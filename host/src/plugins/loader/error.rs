//! Why a library, or a table of the host's own, was refused.

use super::Source;
use super::dlopen::OpenError;
use super::elf::ElfError;
use super::locate::{LocateError, ReadError};
use super::manifest::ManifestError;
use super::root::RootError;
use super::table::{FlagsError, TableError};
use std::fmt;
use std::path::Path;

/// A load error, in one line: which thing, why, and what to do.
#[derive(Debug)]
pub struct LoadError {
    /// What was refused.
    pub origin: Source,
    /// Why.
    pub reason: Refusal,
}

/// Why: one variant for each step of the loader.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[expect(
    missing_docs,
    reason = "each is named after its step; the module's page has a line for each"
)]
pub enum Refusal {
    Locate(#[from] LocateError),
    Read(#[from] ReadError),
    Elf(#[from] ElfError),
    Dlopen(#[from] OpenError),
    Root(#[from] RootError),
    Header(#[from] TableError),
    Flags(#[from] FlagsError),
    Manifests(#[from] ManifestError),
    #[error("{0}")]
    Unusable(String),
}

impl Refusal {
    /// The step that refused.
    pub fn step(&self) -> &'static str {
        match self {
            Self::Locate(_) => "locate",
            Self::Read(_) => "read",
            Self::Elf(_) => "elf",
            Self::Dlopen(_) => "dlopen",
            Self::Root(_) => "root",
            Self::Header(_) => "header",
            Self::Flags(_) => "flags",
            Self::Manifests(_) => "manifests",
            Self::Unusable(_) => "catalogue",
        }
    }
}

impl LoadError {
    pub(super) fn of_library(path: &Path, reason: Refusal) -> Self {
        Self { origin: Source::Library(path.into()), reason }
    }

    pub(super) fn of_built_in(reason: Refusal) -> Self {
        Self { origin: Source::BuiltIn, reason }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Source::Library(path) => write!(f, "cannot load {}: {}", path.display(), self.reason),
            Source::BuiltIn => write!(f, "cannot use a built-in table: {}", self.reason),
        }
    }
}

// No `source`: the line says it all, and a printed chain would say it twice.
impl std::error::Error for LoadError {}

/// The library and the host were built against incompatible versions.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "built against plugin-api {theirs}, this host has {ours}: rebuild it against plugin-api {}{}",
    .ours_major, newer_host(*.theirs_major, *.ours_major)
)]
pub struct VersionMismatch {
    /// The library's version, in full.
    pub theirs: String,
    /// The host's version, in full.
    pub ours: String,
    /// The number that must be equal, on the library's side.
    pub theirs_major: u32,
    /// And on the host's.
    pub ours_major: u32,
}

fn newer_host(theirs: u32, ours: u32) -> String {
    if theirs > ours { format!(", or use a host that has {theirs}") } else { String::new() }
}
