//! Which checkpoint a run is taken up from: the newest that is whole.

use super::manifest::Manifest;
use super::names;
use super::read::{read, read_facts};
use super::{Checkpoint, Facts, MANIFEST, iter_of, name_of};
use crate::run::RunDirError;
use std::fs;
use std::path::{Path, PathBuf};

/// The newest whole checkpoint of a folder, with the complaints about newer ones; `None` where there is none at all.
///
/// # Errors
/// There are checkpoints, and all are damaged.
pub fn newest_valid(folder: &Path) -> Result<Option<(PathBuf, Checkpoint)>, RunDirError> {
    let mut first = None;
    for path in candidates(folder)? {
        match read(&path) {
            Ok(checkpoint) => return Ok(Some((path, checkpoint))),
            Err(error) => {
                tracing::warn!("{error}; the checkpoint before it is used");
                first.get_or_insert(error);
            }
        }
    }
    first.map_or(Ok(None), Err)
}

/// What the newest checkpoint of a folder knows beside its tensors; `None` where none can be read.
pub fn newest_facts(folder: &Path) -> Option<Facts> {
    candidates(folder).ok()?.iter().find_map(|path| read_facts(path).ok())
}

/// Whether a folder has checkpoints, whole or damaged.
pub fn is_any(folder: &Path) -> bool {
    candidates(folder).is_ok_and(|all| !all.is_empty())
}

/// The checkpoint that `path` means: itself, or the newest one of a run directory or of its checkpoint folder. No
/// other stands in for it: who evaluates wants to know what.
///
/// # Errors
/// There is none, or it is damaged.
pub fn open(path: &Path) -> Result<(PathBuf, Checkpoint), RunDirError> {
    let path = locate(path)?;
    let checkpoint = read(&path)?;
    Ok((path, checkpoint))
}

/// Where the checkpoint is that `path` means, as for [`open`]; nothing of it is read.
///
/// # Errors
/// There is none.
pub fn locate(path: &Path) -> Result<PathBuf, RunDirError> {
    let is_named = path.file_name().and_then(|name| name.to_str()).and_then(iter_of).is_some();
    if path.join(MANIFEST).is_file() || (is_named && path.is_dir()) {
        return Ok(path.to_owned());
    }
    for folder in [path.join("checkpoints"), path.to_owned()] {
        if let Some(path) = candidates(&folder)?.into_iter().next() {
            return Ok(path);
        }
    }
    Err(RunDirError::NoCheckpoint { path: path.to_owned() })
}

/// Which checkpoint of a run is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The epoch that it was taken in; `None` for any.
    pub epoch: Option<u64>,
    /// What one of its second names ends with; empty for any.
    pub suffix: String,
}

impl Wanted {
    fn is(&self, path: &Path) -> bool {
        let is_of_epoch = || match self.epoch {
            Some(epoch) => Manifest::read(path).is_ok_and(|found| found.about.epoch == epoch),
            None => true,
        };
        (self.suffix.is_empty() || names::has(path, &self.suffix)) && is_of_epoch()
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let epoch = self.epoch.map(|epoch| format!("epoch {epoch}"));
        let suffix = (!self.suffix.is_empty()).then(|| format!("named …{}", self.suffix));
        out.write_str(&[epoch, suffix].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The newest checkpoint that is wanted, in a run directory or in its checkpoint folder.
///
/// # Errors
/// There is none, or it is damaged.
pub fn choose(path: &Path, wanted: &Wanted) -> Result<Checkpoint, RunDirError> {
    if *wanted == Wanted::default() {
        return Ok(open(path)?.1);
    }
    for folder in [path.join("checkpoints"), path.to_owned()] {
        if let Some(found) = candidates(&folder)?.into_iter().find(|path| wanted.is(path)) {
            return read(&found);
        }
    }
    Err(RunDirError::NoCheckpoint { path: path.join(format!("({wanted})")) })
}

/// The checkpoints of a folder, newest first, from the one on that `latest` names.
fn candidates(folder: &Path) -> Result<Vec<PathBuf>, RunDirError> {
    let mut iters: Vec<u64> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().filter_map(|e| iter_of(e.file_name().to_str()?)).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(RunDirError::io("read", folder)(error)),
    };
    iters.sort_unstable_by(|a, b| b.cmp(a));
    // One that is not there says nothing: it is as good as damaged.
    let latest = latest(folder).filter(|latest| iters.contains(latest));
    iters.retain(|iter| latest.is_none_or(|latest| *iter <= latest));
    Ok(iters.into_iter().map(|iter| folder.join(name_of(iter))).collect())
}

/// The iteration that `latest` names.
pub(super) fn latest(folder: &Path) -> Option<u64> {
    iter_of(fs::read_to_string(folder.join("latest")).ok()?.trim())
}
