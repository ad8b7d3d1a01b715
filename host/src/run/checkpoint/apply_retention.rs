//! Applies the retention rules: writes `best`, creates second names, removes checkpoints that no hook keeps.

use super::manifest::{Manifest, Summary};
use super::names;
use super::retention::{Actions, Rule, decide};
use super::{iter_of, name_of};
use crate::run::{RunDirError, atomic};
use std::fs;
use std::path::Path;

/// Applies the rules once the checkpoint of iteration `newest` is in place. Later checkpoints belong to an abandoned
/// continuation of the run: neither they nor damaged ones are touched.
pub(super) fn apply_retention(
    folder: &Path,
    newest: u64,
    rules: &[Rule],
) -> Result<(), RunDirError> {
    if rules.is_empty() {
        return Ok(());
    }
    let all = abouts(folder, newest)?;
    let Actions { delete, best } = decide(rules, &all);
    if let Some(iter) = best {
        atomic::write(&folder.join("best"), format!("{}\n", name_of(iter)).as_bytes())?;
    }
    names::give(folder, &names::wanted(rules, &all));
    delete.into_iter().try_for_each(|iter| remove(folder, iter))?;
    names::sweep(folder);
    Ok(())
}

fn abouts(folder: &Path, newest: u64) -> Result<Vec<Summary>, RunDirError> {
    let entries = fs::read_dir(folder).map_err(RunDirError::io("read", folder))?;
    let iters = entries.flatten().filter_map(|entry| iter_of(entry.file_name().to_str()?));
    let mut iters: Vec<u64> = iters.filter(|iter| *iter <= newest).collect();
    iters.sort_unstable();
    let about = |iter: u64| Some(Manifest::read(&folder.join(name_of(iter))).ok()?.about);
    Ok(iters.into_iter().filter_map(about).collect())
}

/// Removes a checkpoint. It is renamed first, so that its name never refers to a partial one.
fn remove(folder: &Path, iter: u64) -> Result<(), RunDirError> {
    let path = folder.join(name_of(iter));
    let aside = atomic::temporary_beside(&path);
    atomic::rename(&path, &aside)?;
    fs::remove_dir_all(&aside).map_err(RunDirError::io("remove", &aside))?;
    tracing::debug!("checkpoint {} removed", path.display());
    Ok(())
}
