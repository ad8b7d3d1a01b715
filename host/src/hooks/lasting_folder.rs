//! Folders that a hook makes: on the disk before anything counts on them.

use std::fs::{self, File};
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Makes a folder and those above it that are missing, and has the system put each of them on the disk.
pub(super) fn create(folder: &Path) -> Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => sync(folder.parent()),
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                create(parent)?;
                create(folder)
            }
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Puts what a folder lists on the disk.
pub(super) fn sync(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}
