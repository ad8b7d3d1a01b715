//! One process at a time trains in a run directory.

use super::error::RunDirError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::path::Path;

pub(super) const FILE: &str = ".lock";

/// Held by the process that trains in a run directory. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
    /// False on a file system without locks.
    pub excludes_others: bool,
}

impl RunLock {
    /// Locks a run directory. A file system without locks does not prevent training: then a warning says
    /// that nothing keeps another process out.
    ///
    /// # Errors
    /// Another process holds the lock.
    pub fn take(run: &Path) -> Result<Self, RunDirError> {
        let path = run.join(FILE);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(RunDirError::io("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => Err(RunDirError::InUse { path: run.to_owned() }),
            Ok(()) => Ok(Self { _file: file, excludes_others: true }),
            Err(error) => {
                let error = std::io::Error::from(error);
                tracing::warn!(
                    "{} cannot be locked ({error}): make sure that no other process trains there; both would write \
                     the same files",
                    run.display()
                );
                Ok(Self { _file: file, excludes_others: false })
            }
        }
    }

    /// Whether a process trains in a run directory.
    pub fn is_held(run: &Path) -> bool {
        let Ok(file) = File::open(run.join(FILE)) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_directory_has_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!RunLock::is_held(folder.path()));
        let lock = RunLock::take(folder.path()).unwrap();
        assert!(RunLock::is_held(folder.path()));
        assert!(matches!(RunLock::take(folder.path()), Err(RunDirError::InUse { .. })));
        drop(lock);
        RunLock::take(folder.path()).unwrap();
    }
}
