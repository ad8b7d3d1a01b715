//! The user's cache folder, for the assembled libtorch and partial downloads.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::{LibtorchError, folder::VERSION};
use crate::{
    files::{During as _, FileError},
    report,
};

#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// Held while something in the cache is created; released when dropped, also by a crash.
#[derive(Debug)]
pub(crate) struct Guard {
    _file: File,
}

impl Cache {
    /// `$HOOKRACK_CACHE`, else `$XDG_CACHE_HOME/hookrack`, else `~/.cache/hookrack`.
    pub(crate) fn locate() -> Result<Self, LibtorchError> {
        let root = choose(|name| env::var_os(name)).ok_or(LibtorchError::NoCache)?;
        let root = std::path::absolute(&root).during("resolve", &root)?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The libtorch assembled from wheels.
    pub(crate) fn libtorch(&self) -> PathBuf {
        self.root.join(format!("libtorch-{VERSION}-cpu"))
    }

    /// The folder of links to a Python torch; `key` distinguishes those of several Pythons.
    pub(crate) fn linked(&self, key: &str) -> PathBuf {
        self.root.join(format!("libtorch-{VERSION}-python-{key}"))
    }

    /// Where a folder is created before it is renamed. Always the same one, so that what a killed setup left
    /// behind is removed by the next; the lock excludes concurrent ones.
    pub(crate) fn unfinished(folder: &Path) -> PathBuf {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        folder.with_file_name(format!(".{name}.unfinished"))
    }

    pub(crate) fn downloads(&self) -> PathBuf {
        self.root.join("downloads")
    }

    /// Waits until no other process uses the cache.
    pub(crate) fn lock(&self) -> Result<Guard, FileError> {
        fs::create_dir_all(&self.root).during("create the folder", &self.root)?;
        let path = self.root.join("lock");
        let file = File::create(&path).during("create", &path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            report::note(&format!(
                "another setup is using {}; waiting for it",
                self.root.display()
            ));
            flock(&file, FlockOperation::LockExclusive)
                .map_err(std::io::Error::from)
                .during("lock", &path)?;
        }
        Ok(Guard { _file: file })
    }
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HOOKRACK_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("hookrack")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/hookrack")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(set: &[(&str, &str)]) -> Option<PathBuf> {
        choose(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_more_specific_variable_takes_precedence_and_an_empty_one_counts_as_unset() {
        let all = [("HOOKRACK_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(chosen(&all), Some("/a".into()));
        assert_eq!(chosen(&all[1..]), Some("/b/hookrack".into()));
        assert_eq!(chosen(&all[2..]), Some("/c/.cache/hookrack".into()));
        assert_eq!(
            chosen(&[("HOOKRACK_CACHE", ""), ("HOME", "/c")]),
            Some("/c/.cache/hookrack".into())
        );
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn a_second_lock_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { root: folder.path().to_owned() };
        let first = cache.lock().unwrap();
        let other = cache.clone();
        let (send, locked) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(other.lock().map(drop)));
        let soon = std::time::Duration::from_millis(50);
        assert!(locked.recv_timeout(soon).is_err(), "it waits");
        drop(first);
        locked.recv_timeout(std::time::Duration::from_mins(1)).unwrap().unwrap();
    }
}
