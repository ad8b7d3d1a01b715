//! The policy files of the machine, which a config cannot relax: `/etc/hookrack/policy.toml`, and `etc/policy.toml` of the
//! installation of the program. If both exist, both apply: the stricter policy, and the lock file and keys of each.

use super::super::loader;
use crate::config::TrustPolicy;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

const MACHINE: &str = "/etc/hookrack/policy.toml";

/// A policy file. It can only tighten what a config says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPolicy {
    /// The least that holds for every library.
    #[serde(default = "off")]
    pub policy: TrustPolicy,
    /// The only lock file that counts.
    pub lock: Option<PathBuf>,
    /// The only keys that count.
    pub trusted_keys: Option<Vec<PathBuf>>,
    /// The only folders that libraries are loaded from.
    pub folders: Option<Vec<PathBuf>>,
}

fn off() -> TrustPolicy {
    TrustPolicy::Off
}

/// A policy file that cannot be read. Nothing is loaded then, because it is not known what it would forbid.
#[derive(Debug, thiserror::Error)]
#[error("the policy file {} {why}", .file.display())]
pub struct SystemError {
    file: PathBuf,
    why: String,
}

/// The files, whether they are there or not.
pub(super) fn files() -> Vec<PathBuf> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let installed = program.as_deref().and_then(Path::parent).and_then(Path::parent);
    let installed = installed.map(|root| root.join("etc/policy.toml"));
    [PathBuf::from(MACHINE)].into_iter().chain(installed).collect()
}

impl SystemPolicy {
    /// Reads a policy file; `None` if there is none.
    pub fn read(file: &Path) -> Result<Option<Self>, SystemError> {
        let refused = |why: String| SystemError { file: file.to_owned(), why };
        let text = match loader::read_text(file) {
            Ok(text) => text,
            // A link to a file that is missing is a policy that is not known.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !file.is_symlink() => {
                return Ok(None);
            }
            Err(error) => return Err(refused(format!("cannot be read: {error}"))),
        };
        loader::check_permissions(file).map_err(|error| refused(error.to_string()))?;
        let policy: Self = toml::from_str(&text)
            .map_err(|error| refused(format!("is invalid: {}", error.message())))?;
        let relative = policy.lock.iter().chain(policy.folders.iter().flatten());
        let relative = relative.chain(policy.trusted_keys.iter().flatten());
        if let Some(path) = relative.into_iter().find(|path| path.is_relative()) {
            return Err(refused(format!("has a relative path, {}", path.display())));
        }
        for own in policy.lock.iter().chain(policy.trusted_keys.iter().flatten()) {
            loader::check_permissions(own)
                .map_err(|error| refused(format!("relies on {}: {error}", own.display())))?;
        }
        Ok(Some(policy))
    }
}
