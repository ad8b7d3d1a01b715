//! Finds or assembles a libtorch for the workspace, and points `.libtorch` at it.

mod cache;
mod fetch;
pub(crate) mod folder;
mod installed;
mod link;
mod loadable;
mod make;
pub(crate) mod pins;
mod progress;
mod python;
mod space;
mod stub;
mod verify;

pub(crate) use verify::hex;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{compiler, files::FileError, process::ProcessError, report, workspace::Workspace};
use cache::Cache;
use folder::{FolderFault, VERSION};

#[derive(Debug, thiserror::Error)]
pub(crate) enum LibtorchError {
    #[error(
        "libtorch can be downloaded only for Linux on x86_64, but this is {os} on {arch}; set LIBTORCH to a folder with \
         libtorch {VERSION}"
    )]
    Platform { os: &'static str, arch: &'static str },
    #[error(
        "LIBTORCH is set to a folder that cannot be used; correct it, or unset it to download libtorch"
    )]
    Named { source: FolderFault },
    #[error("LIBTORCH is `{}`, but must be an absolute path: build scripts run in other folders", path.display())]
    Relative { path: PathBuf },
    #[error("no cache folder: set HOOKRACK_CACHE (XDG_CACHE_HOME and HOME are not set either)")]
    NoCache,
    #[error(
        "not enough space in {}: {free} free, {needed} needed; free some, or set HOOKRACK_CACHE to a \
         folder on a larger disk",
        folder.display()
    )]
    NoSpace { folder: PathBuf, free: String, needed: String },
    #[error(
        "`python3` is not on PATH, but libtorch is downloaded from the Python package index; install it (Debian, Ubuntu: \
         `apt install python3 python3-pip`), or set LIBTORCH to a folder with libtorch {VERSION}"
    )]
    NoPython,
    #[error(
        "`python3` has no pip, but libtorch is downloaded from the Python package index; install it (Debian, Ubuntu: `apt \
         install python3-pip`; elsewhere: `python3 -m ensurepip`)"
    )]
    NoPip { source: ProcessError },
    #[error(
        "the download of {file} was interrupted: {reason}; run `cargo xtask setup` again to resume it"
    )]
    BrokenOff { file: &'static str, reason: String },
    #[error("could not unpack {file}")]
    Extract { file: &'static str, source: ProcessError },
    #[error("libtorch_cpu.so needs {missing}, which are neither in the wheels nor on this system")]
    NotLoadable { missing: String },
    #[error("{} is not a link, but `cargo xtask setup` must create one there; move it away", path.display())]
    NotALink { path: PathBuf },
    #[error(transparent)]
    Compiler(#[from] compiler::CompilerError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Fault(#[from] FolderFault),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Verify(#[from] verify::VerifyError),
}

/// Makes `.libtorch` point at a suitable libtorch. `again` searches even if it already does.
pub(crate) fn ensure(workspace: &Workspace, again: bool) -> Result<PathBuf, LibtorchError> {
    compiler::require_both()?;
    let link = workspace.libtorch_link();
    let folder = match named_by_user(workspace)? {
        Some(folder) => folder,
        None => match kept(&link) {
            Some(folder) if !again => return Ok(folder),
            _ => found_or_made(workspace.root())?,
        },
    };
    if link::point(&link, &folder)? {
        report::note(&format!(".libtorch now points to {}", folder.display()));
    }
    Ok(folder)
}

/// The folder for what is downloaded once per machine.
pub(crate) fn cache_folder() -> Result<PathBuf, LibtorchError> {
    Ok(Cache::locate()?.root().to_owned())
}

/// A valid folder that the link already names is kept: changing it would make cargo rebuild everything.
fn kept(link: &Path) -> Option<PathBuf> {
    let target = fs::read_link(link).ok()?;
    folder::check(link).is_ok().then_some(target)
}

/// The folder in LIBTORCH, if the user set it.
fn named_by_user(workspace: &Workspace) -> Result<Option<PathBuf>, LibtorchError> {
    let Some(value) = env::var_os("LIBTORCH").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let path = PathBuf::from(value);
    if is_our_link(&path, &workspace.libtorch_link()) {
        return Ok(None);
    }
    if path.is_relative() {
        return Err(LibtorchError::Relative { path });
    }
    folder::check(&path).map_err(|source| LibtorchError::Named { source })?;
    Ok(Some(path))
}

/// Cargo sets LIBTORCH to the link for every program it runs, xtask included: the user did not set that.
fn is_our_link(path: &Path, link: &Path) -> bool {
    let parent = |path: &Path| path.parent().and_then(|folder| folder.canonicalize().ok());
    path == link || (path.file_name() == link.file_name() && parent(path) == parent(link))
}

fn found_or_made(root: &Path) -> Result<PathBuf, LibtorchError> {
    let (os, arch) = (env::consts::OS, env::consts::ARCH);
    if (os, arch) != ("linux", "x86_64") {
        return Err(LibtorchError::Platform { os, arch });
    }
    report::step(&format!("looking for libtorch {VERSION}"));
    let cache = Cache::locate()?;
    if let Some(folder) = installed::find(root, &cache)? {
        report::note("using the CPU part of python3's torch; set LIBTORCH for a GPU");
        return Ok(folder);
    }
    if folder::check(&cache.libtorch()).is_ok() {
        return Ok(cache.libtorch());
    }
    report::note(&format!("none found; downloading one to {}", cache.root().display()));
    make::make(&cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_cargo_sets_is_not_the_users_choice() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join(".libtorch");
        assert!(is_our_link(&link, &link));
        assert!(is_our_link(&root.path().join("./.libtorch"), &link));
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.path(), other.path().join("alias")).unwrap();
        assert!(is_our_link(&other.path().join("alias/.libtorch"), &link));
        assert!(!is_our_link(&other.path().join(".libtorch"), &link));
        assert!(!is_our_link(Path::new("/opt/libtorch"), &link));
    }

    #[test]
    fn a_link_that_points_nowhere_is_not_kept() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join(".libtorch");
        assert_eq!(kept(&link), None);
        std::os::unix::fs::symlink("/nowhere/at/all", &link).unwrap();
        assert_eq!(kept(&link), None);
    }
}
