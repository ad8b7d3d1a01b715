//! `plugins.lock`: the sha256 of each approved library, for each target.

use super::super::loader::{Description, Image, read_text};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The kind of machine that this host is built for.
pub const TARGET: &str = {
    if cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        "x86_64-unknown-linux-gnu"
    } else if cfg!(all(target_arch = "aarch64", target_env = "gnu")) {
        "aarch64-unknown-linux-gnu"
    } else if cfg!(target_arch = "x86_64") {
        "x86_64-unknown-linux-musl"
    } else if cfg!(target_arch = "aarch64") {
        "aarch64-unknown-linux-musl"
    } else {
        "other"
    }
};

/// The version of the format.
const VERSION: u32 = 1;

const HEAD: &str = "\
# The plugin libraries that this project runs with. Written by `hookrack lock`; keep it in version control.
# A target has its own entries; those of others stay when this one is locked again.
";

/// A lock file, or an empty one if there is none.
#[derive(Clone, Debug)]
pub struct LockFile {
    /// Where it is, or will be.
    pub path: PathBuf,
    entries: Vec<Locked>,
}

/// A library in a lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    /// The name of its file.
    file: String,
    /// The kind of machine.
    target: String,
    /// The sha256 of the file.
    sha256: String,
    /// The library's own name.
    name: String,
    /// Its version.
    version: String,
    /// The version of the ABI.
    abi: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockToml {
    version: u32,
    #[serde(default, rename = "library")]
    libraries: Vec<Locked>,
}

/// Why a lock file does not verify a library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LockError {
    #[error(
        "has sha256 {found}, but {} has {expected} for {file} on {TARGET}: it was rebuilt or changed; \
         check it, then run `hookrack lock` again",
        .lock.display()
    )]
    Changed { lock: PathBuf, file: String, expected: String, found: String },
    #[error(
        "the lock file {} cannot be read: {why}; restore it, or delete it and run `hookrack lock`",
        .lock.display()
    )]
    Unreadable { lock: PathBuf, why: String },
}

/// What a lock file says about a library.
pub(super) enum LockStatus {
    Same,
    Unknown,
    Other(LockError),
}

/// What became of a library's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Added,
    /// It had another sha256.
    Replaced,
    /// It was already up to date.
    Kept,
}

impl LockFile {
    /// Reads a lock file; a missing one is empty.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let unreadable = |why: String| LockError::Unreadable { lock: path.to_owned(), why };
        let path = path.to_owned();
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, entries: Vec::new() });
            }
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let parsed: LockToml = toml::from_str(&text)
            .map_err(|error| unreadable(error.message().replace('\n', " ")))?;
        if parsed.version != VERSION {
            let why = format!("its version is {}, this host knows {VERSION}", parsed.version);
            return Err(unreadable(why));
        }
        Ok(Self { path, entries: parsed.libraries })
    }

    pub(super) fn find(&self, image: &Image) -> LockStatus {
        let file = image.file_name().to_string_lossy();
        let here = |entry: &&Locked| entry.file == file && entry.target == TARGET;
        match self.entries.iter().find(here) {
            None => LockStatus::Unknown,
            Some(entry) if entry.sha256 == image.sha256 => LockStatus::Same,
            Some(entry) => LockStatus::Other(LockError::Changed {
                lock: self.path.clone(),
                file: file.into_owned(),
                expected: entry.sha256.clone(),
                found: image.sha256.clone(),
            }),
        }
    }

    /// Adds a library for this target, replacing its previous entry.
    pub fn enter(&mut self, about: &Description) -> Change {
        let entry = Locked {
            file: about.file_name().into_owned(),
            target: TARGET.to_owned(),
            sha256: about.sha256.clone(),
            name: about.info.name.clone(),
            version: about.info.version.clone(),
            abi: about.abi(),
        };
        let same = |known: &&mut Locked| known.file == entry.file && known.target == entry.target;
        match self.entries.iter_mut().find(same) {
            Some(known) if *known == entry => Change::Kept,
            Some(known) => {
                *known = entry;
                Change::Replaced
            }
            None => {
                self.entries.push(entry);
                Change::Added
            }
        }
    }

    /// Writes the file, completely or not at all.
    pub fn write(&mut self) -> io::Result<()> {
        self.entries.sort_by(|a, b| (&a.file, &a.target).cmp(&(&b.file, &b.target)));
        let text = LockToml { version: VERSION, libraries: self.entries.clone() };
        let text = toml::to_string(&text).map_err(io::Error::other)?;
        let folder =
            self.path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(folder)?;
        file.write_all(HEAD.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }
}
