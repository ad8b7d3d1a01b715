//! The folder of a run.

use super::error::RunDirError;
use super::{atomic, lock};
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

    /// Takes a folder that the user named for a run: one that does not exist yet, an empty one, or one that holds a run.
    ///
    /// # Errors
    /// It holds something else, which is left as it is; or it cannot be made.
    pub fn claim(path: &Path) -> Result<Self, RunDirError> {
        let not_a_run = |why| Err(RunDirError::NotARun { path: path.to_owned(), why });
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => return not_a_run("it is a file"),
            Ok(_) if Self::is_taken(path) => {
                if !Self::holds_run(path) {
                    return not_a_run("its run.json was not written by hookrack");
                }
            }
            Ok(_) if !is_empty(path)? => {
                return not_a_run("it is not empty and has no run.json");
            }
            // What does not exist or cannot be looked at is told by making it.
            Ok(_) | Err(_) => {}
        }
        Self::at(path)
    }

    /// Whether the record in a folder is one of ours.
    pub fn holds_run(path: &Path) -> bool {
        let record = fs::read(path.join("run.json")).unwrap_or_default();
        let record = serde_json::from_slice::<serde_json::Value>(&record);
        record.is_ok_and(|record| record["hookrack"].is_string())
    }

    /// Takes a folder as it is; it is made where it does not exist.
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

/// Whether a folder has nothing in it but what a run that was killed before its record was written leaves.
fn is_empty(path: &Path) -> Result<bool, RunDirError> {
    let is_ours = |name: &str| name == lock::FILE || atomic::is_temporary(name, "run.json");
    for entry in fs::read_dir(path).map_err(RunDirError::io("read", path))? {
        let entry = entry.map_err(RunDirError::io("read", path))?;
        if !entry.file_name().to_str().is_some_and(is_ours) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_anything_else_than_a_run_is_not_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let claim = |name: &str| RunDir::claim(&folder.path().join(name)).map(|_| ());
        claim("new/below").unwrap();
        claim("new/below").unwrap();
        fs::write(folder.path().join("new/below/.lock"), "").unwrap();
        fs::write(folder.path().join("new/below/.run.json.17.tmp"), "{").unwrap();
        claim("new/below").unwrap();
        let error = claim("new").unwrap_err().to_string();
        assert!(error.contains("new is not a run directory: it is not empty"), "{error}");
        fs::write(folder.path().join("file"), "").unwrap();
        let error = claim("file").unwrap_err().to_string();
        assert!(error.contains("file is not a run directory: it is a file"), "{error}");
        let record = folder.path().join("new/run.json");
        fs::write(&record, "{\"race\": 17}").unwrap();
        let error = claim("new").unwrap_err().to_string();
        assert!(error.contains("run.json was not written by hookrack"), "{error}");
        fs::write(&record, "{\"hookrack\": \"0.1.0\"}").unwrap();
        claim("new").unwrap();
    }

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
