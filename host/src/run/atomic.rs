//! Atomic file writes: a temporary sibling, synced, renamed.

use super::error::RunDirError;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

/// Writes a file atomically; on failure the old one stays and no temporary file is left.
///
/// # Errors
/// The system call failed; the error names the requested file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), RunDirError> {
    let temporary = temporary_beside(path);
    let written = write_as(&temporary, path, bytes).and_then(|()| rename(&temporary, path));
    if written.is_err() {
        // The first error is returned.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes a file under a name of its own. In a temporary folder, which is renamed as a whole, both names are the same.
pub(super) fn write_as(temporary: &Path, path: &Path, bytes: &[u8]) -> Result<(), RunDirError> {
    let mut file = File::create(temporary).map_err(RunDirError::io("create", path))?;
    file.write_all(bytes).map_err(RunDirError::io("write", path))?;
    file.sync_all().map_err(RunDirError::io("sync", path))
}

/// Renames a file and syncs the folder.
pub fn rename(from: &Path, to: &Path) -> Result<(), RunDirError> {
    fs::rename(from, to).map_err(RunDirError::io("rename to", to))?;
    match to.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Creates a folder and its missing parents, and syncs each of them: what is synced inside a folder is
/// lost with the folder.
pub fn create_folder(folder: &Path) -> Result<(), RunDirError> {
    let failed = |error| Err(RunDirError::io("create", folder)(error));
    match fs::create_dir(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                create_folder(parent)?;
                create_folder(folder)
            }
            _ => failed(error),
        },
        Err(error) => failed(error),
    }
}

/// Syncs the entries of a folder.
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

/// Whether `name` is a temporary name that [`temporary_beside`] returns for `file`, in any process.
pub(super) fn is_temporary(name: &str, file: &str) -> bool {
    let rest = name.strip_prefix('.').and_then(|rest| rest.strip_prefix(file));
    rest.and_then(|rest| rest.strip_suffix(".tmp")).is_some_and(|process| process.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_put_in_its_place_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("model.pt");
        fs::create_dir(&taken).unwrap();
        let error = write(&taken, b"bytes").unwrap_err().to_string();
        assert!(error.contains("model.pt: ") && !error.contains(".model.pt"), "{error}");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        let nowhere = folder.path().join("nowhere/model.pt");
        let error = write(&nowhere, b"bytes").unwrap_err().to_string();
        assert!(error.contains("nowhere/model.pt: "), "{error}");
    }
}
