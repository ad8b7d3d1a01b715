//! The bytes of a library file, read once: the same bytes are checked, hashed, verified, probed and mapped.

use super::elf;
use super::error::Refusal;
use super::permissions::TrustedOwners;
use super::{locate, permissions};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A library file as it was read.
pub struct Image {
    /// The file, as an absolute path without links.
    pub path: PathBuf,
    /// The sha256 of its bytes, in hex.
    pub sha256: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Reads a file that only its owner, this user or root could have put there, and that is a library for this
    /// machine.
    ///
    /// `file` is without links. One that was found in a folder must not have left the folders by a link.
    pub(super) fn read(file: PathBuf, folders: Option<&[PathBuf]>) -> Result<Self, Refusal> {
        if let Some(folders) = folders {
            permissions::check_inside(&file, folders)?;
        }
        let (opened, meta) = locate::open(&file)?;
        permissions::check(&file, &meta, &TrustedOwners::here())?;
        // Of a large file that is something else, only the beginning is read.
        let mut bytes = Vec::new();
        locate::read(&opened, elf::HEADER_SIZE as u64, &mut bytes)?;
        elf::check_identity(&bytes)?;
        locate::read(&opened, u64::MAX, &mut bytes)?;
        elf::check(&bytes)?;
        let sha256 = crate::digest::sha256(&bytes);
        Ok(Self { path: file, sha256, bytes })
    }

    /// The name of the file.
    pub fn file_name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path.display(), self.bytes.len())
    }
}
