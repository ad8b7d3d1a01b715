//! Verifies the size and SHA-256 of a downloaded file; a wrong one is deleted.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::pins::Wheel;
use crate::files::{self, During as _, FileError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error(
        "{file} has {found} bytes, expected {expected}; it was deleted, run `cargo xtask setup` again \
         to download it again"
    )]
    Size { file: &'static str, expected: u64, found: u64 },
    #[error(
        "{file} is not the pinned file: expected sha256 {expected}, found {found}; it was deleted. Run `cargo xtask \
         setup` again; if it happens twice, the package index serves something else under this name"
    )]
    Hash { file: &'static str, expected: &'static str, found: String },
    #[error("could not check {}", path.display())]
    File { path: PathBuf, source: FileError },
}

/// Accepts the file at `path` as `wheel`, or deletes it and returns an error with the expected and the actual value.
pub(crate) fn verify(path: &Path, wheel: &Wheel) -> Result<(), VerifyError> {
    let outcome = compare(path, wheel);
    if matches!(outcome, Err(VerifyError::Size { .. } | VerifyError::Hash { .. })) {
        files::remove(path)
            .map_err(|source| VerifyError::File { path: path.to_owned(), source })?;
    }
    outcome
}

fn compare(path: &Path, wheel: &Wheel) -> Result<(), VerifyError> {
    let file_error = |source| VerifyError::File { path: path.to_owned(), source };
    let found = fs::metadata(path).during("read", path).map_err(file_error)?.len();
    if found != wheel.bytes {
        return Err(VerifyError::Size { file: wheel.file, expected: wheel.bytes, found });
    }
    let found = sha256(path).map_err(file_error)?;
    if found != wheel.sha256 {
        return Err(VerifyError::Hash { file: wheel.file, expected: wheel.sha256, found });
    }
    Ok(())
}

/// The SHA-256 of a file, as lowercase hex.
pub(crate) fn sha256(path: &Path) -> Result<String, FileError> {
    let mut file = File::open(path).during("read", path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).during("read", path)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: Wheel = Wheel {
        project: "abc",
        version: "1",
        file: "abc-1.whl",
        bytes: 3,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        keep: &[],
        target: &[],
    };

    fn verified(content: &str) -> (Result<(), VerifyError>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc-1.whl");
        fs::write(&path, content).unwrap();
        let outcome = verify(&path, &ABC);
        (outcome, path.exists())
    }

    #[test]
    fn the_pinned_file_is_accepted_and_kept() {
        let (outcome, kept) = verified("abc");
        outcome.unwrap();
        assert!(kept);
    }

    #[test]
    fn a_short_file_is_deleted_and_both_sizes_are_named() {
        let (outcome, kept) = verified("ab");
        let text = outcome.unwrap_err().to_string();
        assert!(text.starts_with("abc-1.whl has 2 bytes, expected 3"), "{text}");
        assert!(!kept);
    }

    #[test]
    fn a_changed_file_is_deleted_and_both_hashes_are_named() {
        let (outcome, kept) = verified("abd");
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains("expected sha256 ba7816bf"), "{text}");
        assert!(text.contains("found a52d159f"), "{text}");
        assert!(!kept);
    }
}
