//! Writes a snapshot to disk: a temporary sibling, synced, renamed; then `latest`.

use super::find::{aside, stepped_aside};
use super::name_of;
use super::snapshot::Snapshot;
use super::together::Draft;
use crate::run::{RunDirError, atomic};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a checkpoint below `folder` and points `latest` at it. The previous one stays until the new one is complete.
///
/// # Errors
/// A file could not be written. No partial checkpoint is left.
pub fn write(folder: &Path, snapshot: &Snapshot) -> Result<PathBuf, RunDirError> {
    let draft = Draft::new(folder, snapshot.about.iter)?;
    let written = draft.add(snapshot)?;
    draft.put_in_place(&snapshot.about, vec![written])
}

/// Points `latest` at the checkpoint to resume from.
pub fn point_latest_at(folder: &Path, iter: u64) -> Result<(), RunDirError> {
    atomic::write(&folder.join("latest"), format!("{}\n", name_of(iter)).as_bytes())
}

/// Cleans up after a killed process: a checkpoint that was being replaced by one of the same iteration gets its name
/// back, partial files are removed. The caller must hold the run's lock.
///
/// # Errors
/// A checkpoint could not be given its name back.
pub fn recover(folder: &Path) -> Result<(), RunDirError> {
    for old in stepped_aside(folder) {
        let path = old.with_extension("");
        if path.exists() {
            // The new one is in place; an old one that cannot be removed is harmless.
            let _ = fs::remove_dir_all(&old);
        } else {
            tracing::warn!("{} was being replaced when its run ended: keeping it", path.display());
            atomic::rename(&old, &path)?;
        }
    }
    clean(folder);
    Ok(())
}

/// Removes partial files of a killed process.
fn clean(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            // A file that cannot be removed is harmless.
            let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
        }
    }
}

/// Atomically replaces a folder of the same iteration: there is always a complete one.
pub(super) fn replace(temporary: &Path, path: &Path) -> Result<(), RunDirError> {
    if !path.exists() {
        return atomic::rename(temporary, path);
    }
    if renameat_with(CWD, temporary, CWD, path, RenameFlags::EXCHANGE).is_ok() {
        path.parent().map_or(Ok(()), atomic::sync_folder)?;
        return fs::remove_dir_all(temporary).map_err(RunDirError::io("remove", temporary));
    }
    // Without atomic exchange the old one is moved aside first, where readers look for it too.
    let old = aside(path);
    if old.exists() {
        fs::remove_dir_all(&old).map_err(RunDirError::io("remove", &old))?;
    }
    atomic::rename(path, &old)?;
    if let Err(error) = atomic::rename(temporary, path) {
        // The first error is returned; the old one is found under either name.
        let _ = atomic::rename(&old, path);
        return Err(error);
    }
    fs::remove_dir_all(&old).map_err(RunDirError::io("remove", &old))
}
