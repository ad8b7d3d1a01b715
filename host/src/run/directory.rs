//! The folder of a run.

use super::atomic;
use super::error::RunDirError;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a run. Another run's files are never written over: a taken name gets a number.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes the folder `name` in `parent`, or `name-2`, `name-3`, … where that one is taken.
    pub fn create(parent: &Path, name: &str) -> Result<Self, RunDirError> {
        fs::create_dir_all(parent).map_err(RunDirError::io("create", parent))?;
        for number in 1.. {
            let path =
                parent.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
            match fs::create_dir(&path) {
                Ok(()) => return Self::at(&path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunDirError::io("create", &path)(error)),
            }
        }
        Self::at(parent)
    }

    /// Takes a folder that the user named; it is made where it does not exist.
    pub fn at(path: &Path) -> Result<Self, RunDirError> {
        fs::create_dir_all(path).map_err(RunDirError::io("create", path))?;
        let path = path.canonicalize().map_err(RunDirError::io("find", path))?;
        Ok(Self { path })
    }

    /// Whether a run has left its record here.
    pub fn is_taken(path: &Path) -> bool {
        path.join("run.json").exists()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where checkpoints are.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// Writes a file of the folder, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
        atomic::write(&self.path.join(name), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..3)
            .map(|_| RunDir::create(folder.path(), "digits").unwrap())
            .map(|run| run.path().file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["digits", "digits-2", "digits-3"]);
    }
}
