//! A draft of a checkpoint to which several ranks add their files. It is put in place when all of them are on disk.

use super::manifest::{File, Manifest, Summary};
use super::snapshot::Snapshot;
use super::write::{point_latest_at, replace};
use super::{INDEX, MANIFEST, name_of};
use crate::run::{RunDirError, atomic};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder beside the checkpoint's path. A draft that is dropped before it is put in place is removed.
#[derive(Debug)]
pub struct Draft {
    temporary: PathBuf,
    // Its final path; `None` for a rank that only adds files.
    place: Option<PathBuf>,
}

/// What a rank has written and synced.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Written {
    files: BTreeMap<String, File>,
    // The model's tensors in this file if there are several, and their total size.
    index: BTreeMap<String, String>,
    index_bytes: u64,
}

impl Draft {
    /// Creates the draft of an iteration's checkpoint below `folder`.
    pub fn new(folder: &Path, iter: u64) -> Result<Self, RunDirError> {
        atomic::create_folder(folder)?;
        let place = folder.join(name_of(iter));
        let temporary = atomic::temporary_beside(&place);
        if temporary.exists() {
            fs::remove_dir_all(&temporary).map_err(RunDirError::io("remove", &temporary))?;
        }
        fs::create_dir(&temporary).map_err(RunDirError::io("create", &temporary))?;
        Ok(Self { temporary, place: Some(place) })
    }

    /// A draft that another rank has created.
    pub fn of_another(temporary: PathBuf) -> Self {
        Self { temporary, place: None }
    }

    /// Whether this process has created it, and so puts it in place.
    pub(super) fn is_own(&self) -> bool {
        self.place.is_some()
    }

    /// Its folder, for the other ranks.
    pub fn folder(&self) -> &Path {
        &self.temporary
    }

    /// Writes and syncs files.
    pub fn add(&self, snapshot: &Snapshot) -> Result<Written, RunDirError> {
        let mut files = BTreeMap::new();
        for (name, bytes) in &snapshot.files {
            self.put(name, bytes)?;
            files.insert(name.clone(), File::of(bytes));
        }
        Ok(Written { files, index: snapshot.index.clone(), index_bytes: snapshot.index_bytes })
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
        let path = self.temporary.join(name);
        atomic::write_as(&path, &path, bytes)
    }

    /// Writes the manifest, puts the checkpoint in place and points `latest` at it. The previous one stays until then.
    ///
    /// # Errors
    /// A file could not be written, or the folder could not be renamed.
    pub fn put_in_place(
        mut self,
        about: &Summary,
        written: Vec<Written>,
    ) -> Result<PathBuf, RunDirError> {
        let Some(place) = self.place.clone() else {
            let why = "another rank is already writing it".to_owned();
            return Err(RunDirError::damaged(&self.temporary, why));
        };
        let (mut files, mut index, mut total) = (BTreeMap::new(), BTreeMap::new(), 0);
        for part in written {
            files.extend(part.files);
            index.extend(part.index);
            total += part.index_bytes;
        }
        if !index.is_empty() {
            let index = json!({ "metadata": { "total_size": total }, "weight_map": index });
            let bytes = serde_json::to_vec_pretty(&index).unwrap_or_default();
            self.put(INDEX, &bytes)?;
            files.insert(INDEX.to_owned(), File::of(&bytes));
        }
        let manifest = Manifest::new(about.clone(), files);
        self.put(MANIFEST, &manifest.to_bytes())?;
        atomic::sync_folder(&self.temporary)?;
        replace(&self.temporary, &place)?;
        self.place = None;
        if let Some(folder) = place.parent() {
            point_latest_at(folder, about.iter)?;
        }
        Ok(place)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.place.is_some() {
            // A folder that cannot be removed is harmless: the next start cleans it up.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}
