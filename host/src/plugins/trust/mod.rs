//! Decides which libraries may run: those in a lock file or signed by a trusted key, if the policy requires it.
//!
//! Everything here is decided on the bytes of a library, before any code of it runs, and at every start: nothing of it
//! is cached.

mod lock;
mod signature;
mod system;
mod verifier;

pub use lock::{Change, LockError, LockFile, TARGET};
pub use signature::{KeyError, PublicKeys, SignatureError, key_id, signature_path};
pub use system::{SystemError, SystemPolicy};
pub use verifier::Unverified;

use super::loader::{Image, visible};
use crate::config::{FolderPolicy, PluginTrust, TrustPolicy};
use std::path::{Path, PathBuf};
use verifier::Verifier;

/// What a config and the machine ask of libraries.
#[derive(Debug)]
pub struct Trust {
    policy: TrustPolicy,
    folders: Vec<FolderPolicy>,
    /// The strictest policy of the machine, and where it is written.
    least: Option<(TrustPolicy, PathBuf)>,
    /// The only folders that the machine allows, and the file that says so.
    only: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Each of these must verify a library.
    verifiers: Vec<Verifier>,
    system: Result<(), SystemError>,
}

/// Whether a library is locked or signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Whether the lock file lists it.
    pub locked: bool,
    /// The id of the trusted key that signed it.
    pub signer: Option<String>,
    /// Why it is not verified, if it is loaded anyway.
    pub warning: Option<String>,
}

impl Verification {
    /// Logs that a library is loaded although it is not verified.
    pub(super) fn warn(&self, library: &Path) {
        if let Some(why) = &self.warning {
            tracing::warn!("{}: {why}; loading it anyway", visible(&library.to_string_lossy()));
        }
    }
}

/// Why a library may not run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TrustError {
    /// Neither locked nor signed.
    #[error(transparent)]
    Unverified(#[from] Unverified),
    /// It is not the file that was locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Its signature is invalid.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    #[error("{0}")]
    Key(String),
    #[error(
        "is outside the folders that {} allows ({}): move it there, or ask whoever runs this machine",
        .policy.display(), .folders.join(", ")
    )]
    Elsewhere { policy: PathBuf, folders: Vec<String> },
    #[error("{0}; no plugin is loaded until this is fixed")]
    System(String),
}

impl Trust {
    /// The requirements of the config, tightened by the policy files of the machine. If these name a lock file or keys, those of the config do
    /// not count.
    pub fn new(config: &PluginTrust) -> Self {
        let mut trust = Self {
            policy: config.policy,
            folders: config.folders.clone(),
            ..Self::read(Self::tighten)
        };
        if !trust.is_asking() {
            trust.verifiers.clear();
        } else if trust.verifiers.is_empty() {
            trust.verifiers.push(Verifier::new(Some(&config.lock), &config.trusted_keys));
        }
        trust
    }

    /// Requires only safe permissions: for a command that only reads.
    pub fn off() -> Self {
        Self {
            policy: TrustPolicy::Off,
            folders: Vec::new(),
            least: None,
            only: Vec::new(),
            verifiers: Vec::new(),
            system: Ok(()),
        }
    }

    /// Only the folders that the machine allows: for a command that makes a library a verified one.
    pub fn of_folders() -> Self {
        Self::read(|trust, file, policy| trust.restrict(file, policy.folders))
    }

    /// The requirements of the machine, without a config. If it names no lock file and no key, `lock` counts.
    pub fn of_machine(lock: PathBuf) -> Self {
        Self::new(&PluginTrust { lock, ..PluginTrust::default() })
    }

    fn read(mut add: impl FnMut(&mut Self, PathBuf, SystemPolicy)) -> Self {
        let mut trust = Self::off();
        for file in system::files() {
            match SystemPolicy::read(&file) {
                Ok(None) => {}
                Ok(Some(policy)) => add(&mut trust, file, policy),
                Err(error) => trust.system = Err(error),
            }
        }
        trust
    }

    fn restrict(&mut self, file: PathBuf, folders: Option<Vec<PathBuf>>) {
        self.only.extend(folders.map(|folders| (file, folders)));
    }

    fn tighten(&mut self, file: PathBuf, policy: SystemPolicy) {
        if policy.lock.is_some() || policy.trusted_keys.is_some() {
            let keys = policy.trusted_keys.unwrap_or_default();
            self.verifiers.push(Verifier::new(policy.lock.as_deref(), &keys));
        }
        self.restrict(file.clone(), policy.folders);
        if self.least.as_ref().is_none_or(|(least, _)| *least < policy.policy) {
            self.least = Some((policy.policy, file));
        }
    }

    fn is_asking(&self) -> bool {
        let all = self.folders.iter().map(|folder| &folder.policy).chain([&self.policy]);
        let all = all.chain(self.least.iter().map(|(policy, _)| policy));
        all.into_iter().any(|policy| *policy != TrustPolicy::Off)
    }

    /// The policy for a library, and who says so.
    fn policy(&self, image: &Image) -> (TrustPolicy, String) {
        let inside = |folder: &Path| {
            folder.canonicalize().is_ok_and(|folder| image.path.starts_with(folder))
        };
        let own = self.folders.iter().filter(|folder| inside(&folder.dir));
        let own = own.map(|folder| folder.policy).max().unwrap_or(self.policy);
        match &self.least {
            Some((least, file)) if *least > own => (*least, file.display().to_string()),
            _ => (own, "the config".to_owned()),
        }
    }

    /// Whether a library may run, and what it is verified by. Under `warn` it may, with a warning.
    pub fn check(&self, image: &Image) -> Result<Verification, TrustError> {
        if let Err(error) = &self.system {
            return Err(TrustError::System(error.to_string()));
        }
        self.check_folder(image)?;
        let (policy, by) = self.policy(image);
        if policy == TrustPolicy::Off {
            return Ok(Verification::default());
        }
        let by = (policy == TrustPolicy::Require).then_some(by.as_str());
        match self.verify(image, by) {
            Err(error) if policy == TrustPolicy::Warn => {
                let warning = Some(visible(&error.to_string()).into_owned());
                Ok(Verification { warning, ..Verification::default() })
            }
            other => other,
        }
    }

    fn check_folder(&self, image: &Image) -> Result<(), TrustError> {
        for (policy, folders) in &self.only {
            let inside = |folder: &PathBuf| {
                folder.canonicalize().is_ok_and(|folder| image.path.starts_with(folder))
            };
            if !folders.iter().any(inside) {
                let folders = folders.iter().map(|folder| folder.display().to_string()).collect();
                return Err(TrustError::Elsewhere { policy: policy.clone(), folders });
            }
        }
        Ok(())
    }

    /// Every verifier must accept it.
    fn verify(&self, image: &Image, by: Option<&str>) -> Result<Verification, TrustError> {
        let mut verification = Verification::default();
        for verifier in &self.verifiers {
            let found = verifier.verify(image, by)?;
            verification.locked |= found.locked;
            verification.signer = verification.signer.or(found.signer);
        }
        Ok(verification)
    }
}

#[cfg(test)]
mod tests;
