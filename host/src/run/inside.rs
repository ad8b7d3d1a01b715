//! Which paths of the run directory hooks may write to.

use super::{atomic, lock};
use std::path::{Component, Path, PathBuf};

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
pub fn is_own(path: &Path) -> bool {
    path.starts_with(lock::FILE) || OWN.iter().any(|own| path.starts_with(own))
}

/// The path of a file that a hook writes to the run directory; creates its folder.
///
/// # Errors
/// The hook must not write it, or the folder cannot be created.
pub fn hook_file(run_dir: Option<&Path>, file: &str) -> Result<PathBuf, String> {
    let run_dir = run_dir.ok_or("this run has no directory")?;
    if !is_inside(Path::new(file)) {
        return Err(format!("`{file}`: use a path inside the run directory"));
    }
    if is_own(Path::new(file)) {
        return Err(format!("`{file}` is written by the run itself: choose another name"));
    }
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
