//! Why a library, or a table of the host's own, was refused.

use super::Source;
use super::dlopen::OpenError;
use super::elf::ElfError;
use super::image::Image;
use super::locate::{LocateError, ReadError};
use super::manifest::ManifestError;
use super::permissions::PermissionError;
use super::root::RootError;
use super::table::{FlagsError, TableError};
use super::text::visible;
use std::fmt;
use std::path::Path;

/// A load error, in one line: which thing, why, and what to do.
#[derive(Debug)]
pub struct LoadError {
    /// What was refused.
    pub origin: Source,
    /// The sha256 of the file, if it was read.
    pub sha256: Option<Box<str>>,
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
    Permissions(#[from] PermissionError),
    Elf(#[from] ElfError),
    Dlopen(#[from] OpenError),
    Root(#[from] RootError),
    Header(#[from] TableError),
    Flags(#[from] FlagsError),
    Manifests(#[from] ManifestError),
    /// Neither locked nor signed, or not the file that was.
    #[error("{0}")]
    Untrusted(String),
    /// What a probe found, in its words.
    #[error("{reason}")]
    Probe {
        step: String,
        reason: String,
    },
    /// It ended or hung a probe.
    #[error(
        "in quarantine: {0}; build it again, or run `hookrack plugins --retry` once the cause is gone"
    )]
    Quarantined(String),
    /// Its manifests in the host differ from those in the probe.
    #[error(
        "its manifests differ from those that the probe saw: they must not depend on where the library runs \
         (`hookrack plugins --retry` probes it again)"
    )]
    Fickle,
    #[error("{0}")]
    Unusable(String),
}

impl Refusal {
    /// Whether a policy rejects the library.
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted(_))
    }

    /// The step that refused.
    pub fn step(&self) -> &str {
        match self {
            Self::Locate(_) => "locate",
            Self::Read(_) => "read",
            Self::Permissions(_) => "permissions",
            Self::Elf(_) => "elf",
            Self::Dlopen(_) => "dlopen",
            Self::Root(_) => "root",
            Self::Header(_) => "header",
            Self::Flags(_) => "flags",
            Self::Manifests(_) => "manifests",
            Self::Untrusted(_) => "trust",
            Self::Probe { step, .. } => step,
            Self::Quarantined(_) | Self::Fickle => "probe",
            Self::Unusable(_) => "catalogue",
        }
    }
}

impl LoadError {
    pub(in super::super) fn of_library(path: &Path, reason: Refusal) -> Self {
        Self { origin: Source::Library(path.into()), sha256: None, reason }
    }

    pub(in super::super) fn of_image(path: &Path, image: &Image, reason: Refusal) -> Self {
        let sha256 = Some(image.sha256.as_str().into());
        Self { origin: Source::Library(path.into()), sha256, reason }
    }

    pub(super) fn of_built_in(reason: Refusal) -> Self {
        Self { origin: Source::BuiltIn, sha256: None, reason }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match &self.origin {
            Source::Library(path) => format!("cannot load {}: {}", path.display(), self.reason),
            Source::BuiltIn => format!("cannot use a built-in table: {}", self.reason),
        };
        f.write_str(&visible(&said))
    }
}

// No `source`: the line already contains it, and a printed chain would repeat it.
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
