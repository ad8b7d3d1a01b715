//! Checkpoints in another folder: `checkpoints` of the run directory is a link to it, so that a resume finds them.

use crate::run::atomic;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, absolute};

/// Makes `checkpoints` of a run directory a link to `folder`, which is created if missing. A relative one is
/// relative to where the program was started.
///
/// # Errors
/// The run has checkpoints elsewhere already, or the folder or the link cannot be created.
pub fn keep_in(run_dir: &Path, folder: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("checkpoints in `{folder}`: {error}");
    atomic::create_folder(Path::new(folder)).map_err(|error| error.to_string())?;
    let (link, folder) = (run_dir.join("checkpoints"), absolute(folder).map_err(failed)?);
    match fs::read_link(&link) {
        Ok(now) if now == folder => return Ok(()),
        Ok(now) => {
            return Err(format!(
                "this run's checkpoints are in {} already: do not change their folder",
                now.display()
            ));
        }
        // A folder that is not a link, or nothing: only an empty one is replaced.
        Err(_) => match fs::remove_dir(&link) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                return Err(format!(
                    "this run has checkpoints in {} already: start a new run to keep them elsewhere",
                    link.display()
                ));
            }
            _ => {}
        },
    }
    symlink(&folder, &link).map_err(failed)?;
    atomic::sync_folder(run_dir).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_s_folder_is_a_link_to_the_chosen_one_and_no_checkpoint_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let (run, chosen, other) =
            (dir.path().join("run"), dir.path().join("a/b"), dir.path().join("c"));
        fs::create_dir_all(run.join("checkpoints")).unwrap();
        let keep_in = |folder: &Path| keep_in(&run, folder.to_str().unwrap());
        keep_in(&chosen).unwrap();
        keep_in(&chosen).unwrap();
        fs::write(chosen.join("latest"), "x").unwrap();
        assert_eq!(fs::read(run.join("checkpoints/latest")).unwrap(), b"x");
        assert!(keep_in(&other).unwrap_err().contains("do not change their folder"));
        fs::remove_file(run.join("checkpoints")).unwrap();
        fs::create_dir(run.join("checkpoints")).unwrap();
        fs::write(run.join("checkpoints/latest"), "own").unwrap();
        assert!(keep_in(&other).unwrap_err().contains("start a new run"));
        assert_eq!(fs::read(run.join("checkpoints/latest")).unwrap(), b"own");
    }
}
