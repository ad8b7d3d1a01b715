//! Files that are written whole or not at all: a temporary sibling, synced, renamed.

use super::error::RunDirError;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

/// Writes a file whole, or leaves what was there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), RunDirError> {
    let temporary = temporary_beside(path);
    let mut file = File::create(&temporary).map_err(RunDirError::io("create", &temporary))?;
    file.write_all(bytes).map_err(RunDirError::io("write", &temporary))?;
    file.sync_all().map_err(RunDirError::io("sync", &temporary))?;
    rename(&temporary, path)
}

/// Renames, and makes the renaming last.
pub fn rename(from: &Path, to: &Path) -> Result<(), RunDirError> {
    fs::rename(from, to).map_err(RunDirError::io("rename to", to))?;
    match to.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Makes the entries of a folder last.
pub fn sync_folder(folder: &Path) -> Result<(), RunDirError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = File::open(folder).map_err(RunDirError::io("open", folder))?;
    file.sync_all().map_err(RunDirError::io("sync", folder))
}

/// A name beside `path` that no other process uses.
pub fn temporary_beside(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}
