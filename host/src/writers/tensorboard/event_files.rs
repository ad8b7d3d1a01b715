//! Which event files of a folder belong to this run: outside the run directory other runs may write to the same folder, and a resumed run
//! must truncate only its own files.

use crate::run::{RunDirError, atomic, is_inside};
use std::path::{Path, PathBuf};

/// The file in the run directory that lists event files elsewhere, one path per line.
const NAME: &str = "event_files.txt";

/// The list of a run's event files.
pub(super) enum EventFiles {
    /// The folder belongs to the run, with every file in it.
    Folder,
    /// The files listed in this one.
    File(PathBuf),
}

impl EventFiles {
    /// The event files of a folder.
    pub(super) fn of(folder: &Path, run_dir: Option<&Path>) -> Self {
        let is_within = |run_dir: &Path| folder.strip_prefix(run_dir).is_ok_and(is_inside);
        match run_dir {
            Some(run_dir) if !is_within(run_dir) => Self::File(run_dir.join(NAME)),
            _ => Self::Folder,
        }
    }

    /// Lists a file.
    pub(super) fn add(&self, path: &Path) -> Result<(), RunDirError> {
        let Self::File(list) = self else { return Ok(()) };
        let text = format!("{}{}\n", read(list)?, absolute(path).display());
        atomic::write(list, text.as_bytes())
    }

    /// Removes a file from the list, and an empty list.
    pub(super) fn remove(&self, path: &Path) -> Result<(), RunDirError> {
        let Self::File(list) = self else { return Ok(()) };
        let (text, gone) = (read(list)?, absolute(path).display().to_string());
        let left: String =
            text.lines().filter(|line| *line != gone).flat_map(|line| [line, "\n"]).collect();
        if left.is_empty() {
            return std::fs::remove_file(list).map_err(RunDirError::io("remove", list));
        }
        atomic::write(list, left.as_bytes())
    }

    /// Those of the given files that belong to this run.
    pub(super) fn own(&self, mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, RunDirError> {
        if let Self::File(list) = self {
            let text = read(list)?;
            let is_listed = |path: &PathBuf| {
                let path = absolute(path).display().to_string();
                text.lines().any(|line| line == path)
            };
            files.retain(is_listed);
        }
        Ok(files)
    }
}

/// The path without `..`, so that a file has one name.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn read(list: &Path) -> Result<String, RunDirError> {
    match std::fs::read_to_string(list) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(RunDirError::io("read", list)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_folder_has_only_the_files_that_were_listed() {
        let root = tempfile::tempdir().unwrap();
        let (shared, run) = (root.path().join("shared"), root.path().join("runs/one"));
        for folder in [&shared, &run] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let [mine, other] = ["mine", "other"].map(|name| shared.join(name));
        for file in [&mine, &other] {
            std::fs::write(file, "").unwrap();
        }
        let event_files = EventFiles::of(&run.join("../../shared"), Some(&run));
        event_files.add(&run.join("../../shared/mine")).unwrap();
        let both = || vec![mine.clone(), other.clone()];
        assert_eq!(event_files.own(both()).unwrap(), both()[..1]);
        // An unused file is removed from the list.
        event_files.add(&other).unwrap();
        assert_eq!(event_files.own(both()).unwrap(), both());
        event_files.remove(&other).unwrap();
        assert_eq!(event_files.own(both()).unwrap(), both()[..1]);
        // Another run has listed nothing.
        let others = EventFiles::of(&shared, Some(&root.path().join("runs/two")));
        assert!(others.own(both()).unwrap().is_empty());
        // Files in the run directory are not listed.
        let own = EventFiles::of(&run.join("tb"), Some(&run));
        assert_eq!(own.own(both()).unwrap().len(), 2);
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 1, "the list");
    }
}
