//! The manifest of a checkpoint: its files with sizes and checksums, and a checksum of its own.

use crate::run::RunDirError;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The form of checkpoints that this host writes and reads.
const FORMAT: u32 = 1;

/// What belongs to a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// What it is, without opening anything else.
    pub about: About,
    files: BTreeMap<String, File>,
    // Over all of the above.
    sha256: String,
}

/// What a checkpoint is: all that decides which ones are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Iterations done.
    pub iter: u64,
    /// Epochs begun.
    pub epoch: u64,
    /// The hooks that requested it; empty for one written at an early end.
    pub asked_by: Vec<String>,
    /// The metrics of the last whole passes, `val/Accuracy`; only numbers that can be compared.
    pub metrics: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    bytes: u64,
    sha256: String,
}

/// A checksum as text.
pub(super) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A checksum of a tensor's type, shape and numbers.
///
/// # Errors
/// Its numbers cannot be read.
pub fn fingerprint(tensor: &tch::Tensor) -> Result<String, RunDirError> {
    let wrong = |why| RunDirError::Tensor { doing: "read", name: "it".to_owned(), why };
    let bytes = crate::run::safetensors_file::bytes_of(tensor).map_err(wrong)?;
    Ok(format!("{:?} {:?} {}", tensor.f_kind().ok(), tensor.size(), sha256(&bytes)))
}

impl Manifest {
    /// The manifest of these files.
    pub(super) fn new(about: About, files: &[(&'static str, Vec<u8>)]) -> Self {
        let entry = |(name, bytes): &(&'static str, Vec<u8>)| {
            ((*name).to_owned(), File { bytes: bytes.len() as u64, sha256: sha256(bytes) })
        };
        let files = files.iter().map(entry).collect();
        let mut manifest = Self { format: FORMAT, about, files, sha256: String::new() };
        manifest.sha256 = manifest.own_checksum();
        manifest
    }

    fn own_checksum(&self) -> String {
        let unsigned = Self { sha256: String::new(), ..self.clone() };
        sha256(&unsigned.to_bytes())
    }

    /// As a file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads and verifies the manifest of a checkpoint.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub fn read(checkpoint: &Path) -> Result<Self, RunDirError> {
        let path = checkpoint.join(super::MANIFEST);
        let bytes = std::fs::read(&path).map_err(RunDirError::io("read", &path))?;
        let damaged = |why: String| RunDirError::damaged(&path, why);
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if manifest.format != FORMAT {
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

    /// Reads a file of the checkpoint; only as the manifest has it.
    pub(super) fn read_file(&self, checkpoint: &Path, name: &str) -> Result<Vec<u8>, RunDirError> {
        let path = checkpoint.join(name);
        let Some(expected) = self.files.get(name) else {
            return Err(RunDirError::damaged(&path, "MANIFEST.json does not list it"));
        };
        let bytes = std::fs::read(&path).map_err(RunDirError::io("read", &path))?;
        if bytes.len() as u64 != expected.bytes {
            let why =
                format!("it has {} bytes, MANIFEST.json says {}", bytes.len(), expected.bytes);
            return Err(RunDirError::damaged(&path, why));
        }
        if sha256(&bytes) != expected.sha256 {
            return Err(RunDirError::damaged(&path, "its checksum does not match MANIFEST.json"));
        }
        Ok(bytes)
    }

    /// Its files and their sizes.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file.bytes))
    }
}
