//! Finds the checkpoint to resume from: the newest intact one.

use super::manifest::Manifest;
use super::names;
use super::read::{read, read_state};
use super::{Checkpoint, CheckpointState, MANIFEST, iter_of, name_of};
use crate::run::RunDirError;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The newest whole checkpoint of a folder.
#[derive(Debug)]
pub struct Newest {
    /// Where it is.
    pub path: PathBuf,
    /// Its contents.
    pub checkpoint: Checkpoint,
    /// Whether a newer one is damaged.
    pub is_second_choice: bool,
}

/// The newest intact checkpoint of a folder, with warnings about damaged newer ones; `None` if there is none.
///
/// # Errors
/// There are checkpoints, and all are damaged.
pub fn newest_valid(folder: &Path) -> Result<Option<Newest>, RunDirError> {
    let mut first = None;
    for path in candidates(folder)? {
        match read(&path) {
            Ok(checkpoint) => {
                return Ok(Some(Newest { path, checkpoint, is_second_choice: first.is_some() }));
            }
            Err(error) => {
                tracing::warn!("{error}; using the previous checkpoint");
                first.get_or_insert(error);
            }
        }
    }
    first.map_or(Ok(None), Err)
}

/// The newest checkpoint of a folder without its tensors; `None` if none can be read.
pub fn newest_state(folder: &Path) -> Option<CheckpointState> {
    candidates(folder).ok()?.iter().find_map(|path| read_state(path).ok())
}

/// The checkpoint at `path`: itself, the one that a file such as `best` names, or the newest one of a run directory or of its
/// checkpoint folder. A damaged one is an error and not replaced by another: an evaluation must be of the checkpoint that was named.
///
/// # Errors
/// There is none, or it is damaged.
pub fn open(path: &Path) -> Result<(PathBuf, Checkpoint), RunDirError> {
    let path = locate(path)?;
    let checkpoint = read(&path)?;
    Ok((path, checkpoint))
}

/// The path of the checkpoint that [`open`] would read, without reading it.
pub fn locate(path: &Path) -> Result<PathBuf, RunDirError> {
    let missing = || RunDirError::NoCheckpoint { path: path.to_owned() };
    if path.is_file() {
        return named_in(path).map_or_else(|| Err(missing()), |named| locate(&named));
    }
    let is_named = path.file_name().and_then(|name| name.to_str()).and_then(iter_of).is_some();
    if is_named && !path.exists() && aside(path).is_dir() {
        return Ok(aside(path));
    }
    if path.join(MANIFEST).is_file() || (is_named && path.is_dir()) {
        return Ok(path.to_owned());
    }
    for folder in [path.join("checkpoints"), path.to_owned()] {
        if let Some(path) = candidates(&folder)?.into_iter().next() {
            return Ok(path);
        }
    }
    Err(missing())
}

/// The maximum size of `latest` and `best`.
const MOST_BYTES: u64 = 64;

/// The path of the checkpoint that a file such as `latest` or `best` names; it need not exist.
pub fn named_in(file: &Path) -> Option<PathBuf> {
    fs::metadata(file).ok().filter(|found| found.is_file() && found.len() <= MOST_BYTES)?;
    let text = fs::read_to_string(file).ok()?;
    let name = text.trim();
    iter_of(name).map(|_| file.with_file_name(name))
}

/// Selects a checkpoint of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointFilter {
    /// Its epoch; `None` for any.
    pub epoch: Option<u64>,
    /// The suffix of one of its second names; empty for any.
    pub suffix: String,
}

impl CheckpointFilter {
    fn is(&self, path: &Path) -> bool {
        let is_of_epoch = || match self.epoch {
            Some(epoch) => Manifest::read(path).is_ok_and(|found| found.about.epoch == epoch),
            None => true,
        };
        (self.suffix.is_empty() || names::has(path, &self.suffix)) && is_of_epoch()
    }
}

impl std::fmt::Display for CheckpointFilter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let epoch = self.epoch.map(|epoch| format!("epoch {epoch}"));
        let suffix = (!self.suffix.is_empty()).then(|| format!("named …{}", self.suffix));
        out.write_str(&[epoch, suffix].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The newest checkpoint that matches, in a run directory or in its checkpoint folder.
///
/// # Errors
/// There is none, or it is damaged.
pub fn choose(path: &Path, wanted: &CheckpointFilter) -> Result<Checkpoint, RunDirError> {
    if *wanted == CheckpointFilter::default() {
        return Ok(open(path)?.1);
    }
    for folder in [path.join("checkpoints"), path.to_owned()] {
        if let Some(found) = candidates(&folder)?.into_iter().find(|path| wanted.is(path)) {
            return read(&found);
        }
    }
    Err(RunDirError::NoCheckpoint { path: path.join(format!("({wanted})")) })
}

/// The checkpoints of a folder, newest first, starting with the one that `latest` names.
fn candidates(folder: &Path) -> Result<Vec<PathBuf>, RunDirError> {
    let mut iters: Vec<u64> = match fs::read_dir(folder) {
        Ok(entries) => entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let name = name.to_str()?;
                iter_of(name.strip_suffix(ASIDE).unwrap_or(name))
            })
            .collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Vec::new()
        }
        Err(error) => return Err(RunDirError::io("read", folder)(error)),
    };
    iters.sort_unstable_by(|a, b| b.cmp(a));
    iters.dedup();
    // A missing checkpoint is treated as a damaged one.
    let latest = latest(folder).filter(|latest| iters.contains(latest));
    iters.retain(|iter| latest.is_none_or(|latest| *iter <= latest));
    let path = |iter| {
        let path = folder.join(name_of(iter));
        // A process on a file system without atomic exchange was killed while it replaced a checkpoint, or is doing so now.
        if path.exists() { path } else { aside(&path) }
    };
    Ok(iters.into_iter().map(path).collect())
}

/// Suffix of a checkpoint that is being replaced by one of the same iteration, on file systems without atomic exchange.
const ASIDE: &str = ".old";

/// Where a checkpoint is moved while it is replaced.
pub(super) fn aside(checkpoint: &Path) -> PathBuf {
    let mut name = checkpoint.file_name().unwrap_or_default().to_owned();
    name.push(ASIDE);
    checkpoint.with_file_name(name)
}

/// The checkpoints of a folder that were moved aside.
pub(super) fn stepped_aside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| iter_of(name.strip_suffix(ASIDE)?)).is_some()
    };
    entries.filter(is_one).map(|entry| entry.path()).collect()
}

/// The iteration that `latest` names.
pub(super) fn latest(folder: &Path) -> Option<u64> {
    iter_of(fs::read_to_string(folder.join("latest")).ok()?.trim())
}
