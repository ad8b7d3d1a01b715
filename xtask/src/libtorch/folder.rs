//! Whether a folder is a libtorch that this workspace can be built with.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The one version that the bindings (`tch` 0.26) accept.
pub(crate) const VERSION: &str = "2.13.0";

/// Files that the compiler and the linker need.
const NEEDED: [&str; 4] =
    ["include/ATen/ATen.h", "lib/libc10.so", "lib/libtorch.so", "lib/libtorch_cpu.so"];

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FolderFault {
    #[error("{} is not a folder", folder.display())]
    NotThere { folder: PathBuf },
    #[error("{} has no {file}", folder.display())]
    Incomplete { folder: PathBuf, file: &'static str },
    #[error("{} has no version: neither build-version nor version.py", folder.display())]
    NoVersion { folder: PathBuf },
    #[error("{} is libtorch {found}, but {VERSION} is required", folder.display())]
    WrongVersion { folder: PathBuf, found: String },
}

/// Complete and of the right version, or what is wrong with it.
pub(crate) fn check(folder: &Path) -> Result<(), FolderFault> {
    let folder_owned = || folder.to_owned();
    if !folder.is_dir() {
        return Err(FolderFault::NotThere { folder: folder_owned() });
    }
    let found =
        version_of(folder).ok_or_else(|| FolderFault::NoVersion { folder: folder_owned() })?;
    if !is_right(&found) {
        return Err(FolderFault::WrongVersion { folder: folder_owned(), found });
    }
    match NEEDED.into_iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Err(FolderFault::Incomplete { folder: folder_owned(), file }),
        None => Ok(()),
    }
}

/// `2.13.0`, also with a build tag (`2.13.0+cpu`).
pub(crate) fn is_right(version: &str) -> bool {
    version.split('+').next() == Some(VERSION)
}

/// The version in `build-version` of a libtorch, or in `version.py` of a Python torch.
pub(crate) fn version_of(folder: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(folder.join("build-version")) {
        return Some(text.trim().to_owned());
    }
    python_version(&fs::read_to_string(folder.join("version.py")).ok()?)
}

/// Parses `__version__ = '2.13.0+cpu'` in a Python file.
fn python_version(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        line.strip_prefix("__version__")?.trim_start().strip_prefix('=').map(str::trim)
    })?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libtorch(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in NEEDED {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(folder.path().join("build-version"), version).unwrap();
        folder
    }

    #[test]
    fn the_right_version_passes_whatever_it_was_built_for() {
        for version in ["2.13.0\n", "2.13.0+cpu", "2.13.0+cu130\n"] {
            assert_eq!(check(libtorch(version).path()), Ok(()));
        }
    }

    #[test]
    fn another_version_is_named_beside_the_needed_one() {
        let folder = libtorch("2.12.1+cpu");
        let text = check(folder.path()).unwrap_err().to_string();
        assert!(text.ends_with("is libtorch 2.12.1+cpu, but 2.13.0 is required"), "{text}");
    }

    #[test]
    fn a_missing_library_is_named() {
        let folder = libtorch("2.13.0");
        fs::remove_file(folder.path().join("lib/libtorch_cpu.so")).unwrap();
        let text = check(folder.path()).unwrap_err().to_string();
        assert!(text.ends_with("has no lib/libtorch_cpu.so"), "{text}");
    }

    #[test]
    fn the_version_is_read_from_a_python_file() {
        let text = "from typing import Optional\n\n__all__ = ['__version__']\n__version__ = '2.13.0+cu130'\n";
        assert_eq!(python_version(text).as_deref(), Some("2.13.0+cu130"));
        assert_eq!(python_version("debug = False\n"), None);
    }
}
