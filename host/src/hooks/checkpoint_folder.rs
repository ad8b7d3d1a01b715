//! Checkpoints in a configured folder: `checkpoints` of the run directory is a link to it, so that a resume finds them.

use hookrack_plugin_api::prelude::*;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, absolute};

/// Makes `checkpoints` of a run directory a link to `folder`, which is created if missing. A relative one is
/// relative to where the program was started.
pub(super) fn lead(run_dir: &Path, folder: &str) -> Result<()> {
    let failed = |error: io::Error| Error::new(format!("checkpoint_dir = \"{folder}\": {error}"));
    create(Path::new(folder)).map_err(failed)?;
    let (link, folder) = (run_dir.join("checkpoints"), absolute(folder).map_err(failed)?);
    match fs::read_link(&link) {
        Ok(now) if now == folder => return Ok(()),
        Ok(now) => bail!(
            "this run's checkpoints are in {} already: do not change checkpoint_dir",
            now.display()
        ),
        // A folder that is not a link, or nothing: only an empty one is replaced.
        Err(_) => match fs::remove_dir(&link) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => bail!(
                "this run has checkpoints in {} already: start a new run to keep them elsewhere",
                link.display()
            ),
            _ => {}
        },
    }
    symlink(&folder, &link).and_then(|()| sync(Some(run_dir))).map_err(failed)
}

/// Creates a folder and its missing parents, each synced to disk before a checkpoint counts on it.
fn create(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => sync(folder.parent()),
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                create(parent)?;
                create(folder)
            }
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Syncs the entries of a folder.
fn sync(folder: Option<&Path>) -> io::Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_s_folder_leads_to_the_chosen_one_and_no_checkpoint_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let (run, chosen, other) =
            (dir.path().join("run"), dir.path().join("a/b"), dir.path().join("c"));
        fs::create_dir_all(run.join("checkpoints")).unwrap();
        let lead = |folder: &Path| lead(&run, folder.to_str().unwrap());
        lead(&chosen).unwrap();
        lead(&chosen).unwrap();
        fs::write(chosen.join("latest"), "x").unwrap();
        assert_eq!(fs::read(run.join("checkpoints/latest")).unwrap(), b"x");
        assert!(lead(&other).unwrap_err().to_string().contains("do not change checkpoint_dir"));
        fs::remove_file(run.join("checkpoints")).unwrap();
        fs::create_dir(run.join("checkpoints")).unwrap();
        fs::write(run.join("checkpoints/latest"), "own").unwrap();
        assert!(lead(&other).unwrap_err().to_string().contains("start a new run"));
        assert_eq!(fs::read(run.join("checkpoints/latest")).unwrap(), b"own");
    }
}
