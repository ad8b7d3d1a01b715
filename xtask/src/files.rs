//! File operations whose error says what was tried on which path.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// `could not rename /a/b`, with the reason as its source.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {}", path.display())]
pub(crate) struct FileError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Names the path in an I/O error: `fs::read(p).during("read", p)?`.
pub(crate) trait During<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, FileError>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, FileError> {
        self.map_err(|source| FileError { action, path: path.to_owned(), source })
    }
}

/// Removes a file or a whole folder, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), FileError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.during("remove", path),
    }
}

/// Creates an empty folder, replacing an existing one.
pub(crate) fn fresh_folder(path: &Path) -> Result<(), FileError> {
    remove(path)?;
    fs::create_dir_all(path).during("create the folder", path)
}

/// Copies `from` over `to` in one step, and only if the bytes differ: a host that has the old library
/// mapped keeps its pages, and time stamps change only if the contents do.
pub(crate) fn copy_if_different(from: &Path, to: &Path) -> Result<bool, FileError> {
    let new = fs::read(from).during("read", from)?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(false);
    }
    let beside = sibling(to, "new");
    fs::copy(from, &beside).during("write", &beside)?;
    fs::rename(&beside, to).during("replace", to)?;
    Ok(true)
}

/// Copies a folder recursively; links are followed, so that the copy is self-contained.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::create_dir_all(to).during("create the folder", to)?;
    for entry in sorted_entries(from)? {
        let target = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            copy_tree(&entry, &target)?;
        } else {
            fs::copy(&entry, &target).during("copy", &entry)?;
        }
    }
    Ok(())
}

/// The entries of a folder, sorted by name; empty if it does not exist.
pub(crate) fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.during("list the folder", folder)?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|e| e.path())).collect();
    let mut paths = paths.during("list the folder", folder)?;
    paths.sort();
    Ok(paths)
}

/// A hidden temporary name in the same folder, unique to this process.
pub(crate) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{suffix}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_happens_only_when_the_bytes_differ() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&from, "one").unwrap();
        assert!(copy_if_different(&from, &to).unwrap());
        assert!(!copy_if_different(&from, &to).unwrap());
        fs::write(&from, "two").unwrap();
        assert!(copy_if_different(&from, &to).unwrap());
        assert_eq!(fs::read_to_string(&to).unwrap(), "two");
        assert_eq!(sorted_entries(folder.path()).unwrap(), [from, to]);
    }

    #[test]
    fn removing_what_is_not_there_is_fine_and_a_link_is_removed_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        remove(&folder.path().join("nothing")).unwrap();
        let kept = folder.path().join("kept");
        fs::create_dir(&kept).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        remove(&link).unwrap();
        assert!(kept.is_dir());
        assert!(!link.exists());
    }

    #[test]
    fn the_error_names_the_action_and_the_path() {
        let path = Path::new("/nowhere/at/all");
        let error = fs::read(path).during("read", path).unwrap_err();
        assert_eq!(error.to_string(), "could not read /nowhere/at/all");
    }
}
