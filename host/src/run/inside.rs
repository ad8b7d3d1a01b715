//! Which paths of the run directory hooks may write to.

use super::lock;
use std::path::{Component, Path};

/// What the run itself writes, and everything below.
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

/// Whether a relative path leads nowhere but into the folder that it is relative to: no root, no `..`, no `.`.
pub fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a relative path is one of the run's own files, which no hook may replace or append to.
pub fn is_own(path: &Path) -> bool {
    path.starts_with(lock::FILE) || OWN.iter().any(|own| path.starts_with(own))
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
