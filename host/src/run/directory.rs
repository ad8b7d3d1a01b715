//! The folder of a run.

use super::error::RunDirError;
use super::{atomic, json_file, lock};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a run. Another run's files are never overwritten: a taken name gets a number.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

/// Files that are not moved when a run's files are set aside.
const STAYS: [&str; 3] = [lock::FILE, RECORD, "earlier"];
/// The record of a run, which identifies its folder.
const RECORD: &str = "run.json";

/// Whether a file or folder is created by every start and is not a result of the run.
fn is_trace(path: &Path) -> bool {
    let is_empty_folder = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    let is_empty_file = path.is_file() && path.metadata().is_ok_and(|file| file.len() == 0);
    let is_of_a_start = |name| path.ends_with(name);
    is_empty_file
        || (path.is_dir() && is_empty_folder())
        || ["config.toml", "log.txt", "report.html"].into_iter().any(is_of_a_start)
}

impl RunDir {
    /// Creates the folder `name` in `parent`, or `name-2`, `name-3`, … if it is taken.
    pub fn create(parent: &Path, name: &str) -> Result<Self, RunDirError> {
        atomic::create_folder(parent)?;
        for number in 1.. {
            let path =
                parent.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
            match fs::create_dir(&path) {
                Ok(()) => {
                    atomic::sync_folder(parent)?;
                    return Self::at(&path);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunDirError::io("create", &path)(error)),
            }
        }
        Self::at(parent)
    }

    /// Uses a folder for a run: it must not exist yet, be empty, or contain a run.
    ///
    /// # Errors
    /// It contains something else, which is left untouched, or it cannot be created.
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
            // Creating it reports what is missing or not accessible.
            Ok(_) | Err(_) => {}
        }
        Self::at(path)
    }

    /// Whether the record in a folder was written by hookrack.
    pub fn holds_run(path: &Path) -> bool {
        json_file::record(path).is_some_and(|record| record["hookrack"].is_string())
    }

    /// Uses a folder as it is; creates it if it does not exist.
    pub fn at(path: &Path) -> Result<Self, RunDirError> {
        atomic::create_folder(path)?;
        let path = path.canonicalize().map_err(RunDirError::io("find", path))?;
        Ok(Self { path })
    }

    /// Moves all files of a run into a folder `earlier/1`, `earlier/2`, … and returns its path; `None` if
    /// there is nothing but what every start creates.
    pub fn set_aside(&self) -> Result<Option<PathBuf>, RunDirError> {
        let entries = fs::read_dir(&self.path).map_err(RunDirError::io("read", &self.path))?;
        let left: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| !STAYS.iter().any(|name| path.ends_with(name)) && !path.is_symlink())
            .collect();
        if left.iter().all(|path| is_trace(path)) {
            return Ok(None);
        }
        let earlier = self.path.join("earlier");
        atomic::create_folder(&earlier)?;
        let aside = (1_u64..).map(|number| earlier.join(number.to_string()));
        let aside = aside.filter(|folder| !folder.exists()).take(1).collect::<PathBuf>();
        atomic::create_folder(&aside)?;
        // Without the record the folder would not be recognized as a run's, so it is copied.
        let record = self.path.join(RECORD);
        if let Ok(record) = fs::read(&record) {
            atomic::write(&aside.join(RECORD), &record)?;
        }
        for path in left {
            atomic::rename(&path, &aside.join(path.file_name().unwrap_or_default()))?;
        }
        atomic::sync_folder(&self.path)?;
        Ok(Some(aside))
    }

    /// Whether the folder contains a run's record.
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

    /// Writes a file of the folder atomically.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
        atomic::write(&self.path.join(name), bytes)
    }
}

/// Whether a folder contains only the files of a run that was killed before its record was written.
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
    fn what_a_run_left_is_set_aside_whole_and_a_mere_start_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path()).unwrap();
        let write = |name: &str, text: &str| fs::write(run.path().join(name), text).unwrap();
        for (name, text) in
            [("run.json", "{}"), ("log.txt", "x"), ("metrics.json", ""), (".lock", "")]
        {
            write(name, text);
        }
        fs::create_dir(run.path().join("checkpoints")).unwrap();
        assert_eq!(run.set_aside().unwrap(), None);
        for number in ["1", "2"] {
            write("metrics.json", number);
            let aside = run.set_aside().unwrap().unwrap();
            assert_eq!(aside, run.path().join("earlier").join(number));
            assert_eq!(fs::read_to_string(aside.join("metrics.json")).unwrap(), number);
            let mut left: Vec<_> = fs::read_dir(run.path()).unwrap().flatten().collect();
            left.sort_by_key(fs::DirEntry::file_name);
            let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
            assert_eq!(left, [".lock", "earlier", "run.json"]);
        }
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
