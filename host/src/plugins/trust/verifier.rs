//! Verifies a library by a lock file or by the signature of a trusted key.

use super::super::loader::Image;
use super::lock::{LockError, LockFile, LockStatus};
use super::signature::{KeyError, PublicKeys};
use super::{TrustError, Verification};
use std::fmt;
use std::path::{Path, PathBuf};

/// A lock file and keys, one of which must verify a library.
#[derive(Debug)]
pub(super) struct Verifier {
    lock: Option<Result<LockFile, LockError>>,
    keys: Result<PublicKeys, KeyError>,
}

/// A library is neither locked nor signed.
#[derive(Debug, thiserror::Error)]
pub struct Unverified {
    /// The lock file, if one counts.
    lock: Option<PathBuf>,
    /// Who requires it; `None` if it is loaded anyway.
    by: Option<String>,
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (is_missing, required, run) = match &self.lock {
            Some(lock) => (
                format!("is neither in {} nor signed by a trusted key", lock.display()),
                "one of the two",
                "`hookrack lock` or `hookrack sign`",
            ),
            None => ("is not signed by a trusted key".to_owned(), "that", "`hookrack sign`"),
        };
        f.write_str(&is_missing)?;
        if let Some(by) = &self.by {
            write!(f, ", and {by} requires {required}")?;
        }
        write!(f, ": check it, then run {run}")
    }
}

impl Verifier {
    /// Reads the files.
    pub(super) fn new(lock: Option<&Path>, keys: &[PathBuf]) -> Self {
        Self { lock: lock.map(LockFile::read), keys: PublicKeys::read(keys) }
    }

    /// A lock file with another sha256, or an invalid signature, is an error even if the other check passes.
    /// `by` is who requires that it is verified, if anyone does.
    pub(super) fn verify(
        &self,
        image: &Image,
        by: Option<&str>,
    ) -> Result<Verification, TrustError> {
        let keys = self.keys.as_ref().map_err(|error| TrustError::Key(error.to_string()))?;
        let signer = keys.signer(image)?;
        let lock =
            self.lock.as_ref().map(|lock| lock.as_ref().map_err(Clone::clone)).transpose()?;
        let locked = match lock.map(|lock| lock.find(image)) {
            Some(LockStatus::Same) => true,
            Some(LockStatus::Unknown) | None => false,
            Some(LockStatus::Other(error)) => return Err(error.into()),
        };
        if !locked && signer.is_none() {
            let lock = lock.map(|lock| lock.path.clone());
            return Err(Unverified { lock, by: by.map(str::to_owned) }.into());
        }
        Ok(Verification { locked, signer, warning: None })
    }
}
