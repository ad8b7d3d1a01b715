//! The manifest of a checkpoint: its files with sizes and checksums, and a checksum of its own.

use crate::digest::sha256;
use crate::run::{RunDirError, json_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The format of checkpoints written by one process, which every host reads.
const FORMAT: u32 = 1;

/// The format of checkpoints written by several ranks, with tensors in several files.
const FORMAT_OF_RANKS: u32 = 2;

/// The manifest of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// Its summary, so that no other file needs to be opened.
    pub about: Summary,
    files: BTreeMap<String, File>,
    // Over all of the above.
    sha256: String,
}

/// The summary of a checkpoint: everything that retention depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Iterations done.
    pub iter: u64,
    /// Epochs begun.
    pub epoch: u64,
    /// The hooks that requested it; empty for one written at an early end.
    pub asked_by: Vec<String>,
    /// The metrics of the last whole passes, `val/Accuracy`; only numbers that can be compared.
    pub metrics: BTreeMap<String, f64>,
}

/// The expected size and checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    bytes: u64,
    sha256: String,
}

impl File {
    /// A file of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, sha256: sha256(bytes) }
    }
}

/// A checksum of a tensor's dtype, shape and elements.
pub fn fingerprint(tensor: &tch::Tensor) -> Result<String, RunDirError> {
    let wrong = |why| RunDirError::Tensor { doing: "read", name: "it".to_owned(), why };
    let bytes = crate::run::safetensors_file::bytes_of(tensor).map_err(wrong)?;
    Ok(format!("{:?} {:?} {}", tensor.f_kind().ok(), tensor.size(), sha256(&bytes)))
}

impl Manifest {
    /// The manifest of these files.
    pub(super) fn new(about: Summary, files: BTreeMap<String, File>) -> Self {
        let is_whole = files.keys().all(|name| super::FILES.contains(&name.as_str()));
        let format = if is_whole { FORMAT } else { FORMAT_OF_RANKS };
        let mut manifest = Self { format, about, files, sha256: String::new() };
        manifest.sha256 = manifest.own_checksum();
        manifest
    }

    fn own_checksum(&self) -> String {
        let unsigned = Self { sha256: String::new(), ..self.clone() };
        sha256(&unsigned.to_bytes())
    }

    /// The bytes of the manifest file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        json_file::pretty(self).into_bytes()
    }

    /// Reads and verifies the manifest of a checkpoint.
    pub fn read(checkpoint: &Path) -> Result<Self, RunDirError> {
        let path = checkpoint.join(super::MANIFEST);
        let bytes = std::fs::read(&path).map_err(RunDirError::io("read", &path))?;
        let damaged = |why: String| RunDirError::damaged(&path, why);
        let manifest: Self = json_file::parse(&path, &bytes)?;
        if ![FORMAT, FORMAT_OF_RANKS].contains(&manifest.format) {
            return Err(damaged(format!(
                "format {} is not supported by this host",
                manifest.format
            )));
        }
        if manifest.own_checksum() != manifest.sha256 || manifest.to_bytes() != bytes {
            return Err(damaged("its own checksum does not match".to_owned()));
        }
        Ok(manifest)
    }

    /// Reads a file of the checkpoint; an error unless it matches the manifest.
    pub(super) fn read_file(&self, checkpoint: &Path, name: &str) -> Result<Vec<u8>, RunDirError> {
        let path = checkpoint.join(name);
        let bytes = std::fs::read(&path).map_err(RunDirError::io("read", &path))?;
        self.check_size(&path, name, &bytes)?;
        self.check_sum(&path, name, &bytes)?;
        Ok(bytes)
    }

    /// An error unless a file has the size in the manifest.
    pub(super) fn check_size(
        &self,
        path: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), RunDirError> {
        let expected = self.expected(path, name)?.bytes;
        if bytes.len() as u64 == expected {
            return Ok(());
        }
        let why = format!("it has {} bytes, MANIFEST.json says {expected}", bytes.len());
        Err(RunDirError::damaged(path, why))
    }

    /// An error unless a file matches the manifest. Reads the whole file.
    pub(super) fn check_sum(
        &self,
        path: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), RunDirError> {
        if sha256(bytes) == self.expected(path, name)?.sha256 {
            return Ok(());
        }
        Err(RunDirError::damaged(path, "its checksum does not match MANIFEST.json"))
    }

    fn expected(&self, path: &Path, name: &str) -> Result<&File, RunDirError> {
        let expected = self.files.get(name);
        expected.ok_or_else(|| RunDirError::damaged(path, "MANIFEST.json does not list it"))
    }

    /// Its files and their sizes.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file.bytes))
    }
}
