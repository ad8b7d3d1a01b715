//! Which paths of the run directory hooks may write to.

use super::{atomic, lock};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Files and folders that the run itself writes.
const OWN: [&str; 9] = [
    "checkpoints",
    "config.toml",
    "earlier",
    "event_files.txt",
    "log.txt",
    "metrics.json",
    "ranks",
    "report.html",
    "run.json",
];

/// Whether a relative path stays inside its folder: no root, no `..`, no `.`.
pub fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a relative path is one of the run's own files, which no hook may replace or append to.
fn is_own(path: &Path) -> bool {
    path.starts_with(lock::FILE) || OWN.iter().any(|own| path.starts_with(own))
}

/// Why hooks cannot write to a path of the run directory.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// It leads out of the run directory.
    #[error("`{}`: use a path inside the run directory", .0.display())]
    Outside(PathBuf),
    /// The run itself writes it.
    #[error("`{}` is written by the run itself: choose another name", .0.display())]
    Own(PathBuf),
}

/// Checks a path that hooks want to write to, relative to the run directory or, where that is allowed, outside of it.
///
/// # Errors
/// It is not for hooks.
pub fn check_path(path: &Path, may_be_outside: bool) -> Result<(), PathError> {
    if !may_be_outside && !is_inside(path) {
        return Err(PathError::Outside(path.to_owned()));
    }
    if is_own(path) { Err(PathError::Own(path.to_owned())) } else { Ok(()) }
}

/// The path of a file that a hook writes to the run directory; creates its folder.
///
/// # Errors
/// The hook must not write it, or the folder cannot be created.
pub fn hook_file(run_dir: Option<&Path>, file: &str) -> Result<PathBuf, String> {
    let run_dir = run_dir.ok_or(
        "this run has no directory: only rank 0 of `train` has one; write the file only if `t.run_dir()` returns a path",
    )?;
    check_path(Path::new(file), false).map_err(|error| error.to_string())?;
    let path = run_dir.join(file);
    atomic::create_folder(path.parent().unwrap_or(run_dir)).map_err(|error| error.to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_s_own_files_are_not_for_hooks() {
        for own in ["run.json", ".lock", "checkpoints", "checkpoints/latest", "ranks/log.1.txt"] {
            assert!(is_own(Path::new(own)), "{own}");
        }
        for free in ["", "eval.json", "logs/run.json", "run.json.bak", "checkpoints2/x", "tb"] {
            assert!(!is_own(Path::new(free)), "{free}");
        }
    }

    #[test]
    fn a_file_without_a_run_directory_is_refused_with_what_to_check() {
        let error = hook_file(None, "x.json").unwrap_err();
        assert!(error.contains("only rank 0 of `train`") && error.contains("`t.run_dir()`"));
    }

    #[test]
    fn a_path_that_could_lead_out_is_not_inside() {
        for (path, inside) in [
            ("tb", true),
            ("a/b.json", true),
            ("", true),
            ("../tb", false),
            ("a/../..", false),
            ("/a", false),
        ] {
            assert_eq!(is_inside(Path::new(path)), inside, "{path}");
        }
    }
}
