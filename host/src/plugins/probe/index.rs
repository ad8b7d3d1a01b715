//! What is known about libraries, one file for each sha256: `hookrack/plugins/` in the user's cache folder.
//!
//! It saves time and remembers what crashed. It is not trusted: signatures and lock files are checked at each
//! start. Without a cache folder that can be written to, every start probes again.

use super::verdict::Verdict;
use hookrack_plugin_api::abi::{ABI_MAJOR, ABI_MINOR};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A file of the index.
#[derive(Serialize, Deserialize)]
struct Known {
    /// The host that probed it: another version may read more of a manifest, or check more.
    host: String,
    verdict: Verdict,
}

fn host() -> String {
    format!("{} {ABI_MAJOR}.{ABI_MINOR} {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}

/// What is known about the library of this sha256.
pub(super) fn lookup(sha256: &str) -> Option<Verdict> {
    let folder = folder().filter(|folder| is_own(folder))?;
    let text = fs::read(folder.join(file_name(sha256))).ok()?;
    let known: Known = serde_json::from_slice(&text).ok()?;
    (known.host == host()).then_some(known.verdict)
}

/// Remembers a verdict, if it will still be true tomorrow.
pub(super) fn store(sha256: &str, verdict: &Verdict) {
    // What the system's loader says depends on the libraries that are installed.
    if matches!(verdict, Verdict::Refused { step, .. } if step == "dlopen") {
        return;
    }
    let Some(folder) = folder() else { return };
    let known = Known { host: host(), verdict: verdict.clone() };
    if let Err(why) = write(&folder, sha256, &known) {
        tracing::debug!("the index of plugins in {} was not updated: {why}", folder.display());
    }
}

/// Forgets what is known about every library, so that each is probed again.
pub fn forget_all() {
    let Some(entries) = folder().and_then(|folder| fs::read_dir(folder).ok()) else { return };
    let files = entries.flatten().map(|entry| entry.path());
    for file in files.filter(|path| path.extension().is_some_and(|end| end == "json")) {
        // Entries that are already gone count as forgotten; those that cannot be removed stay known.
        _ = fs::remove_file(file);
    }
}

fn file_name(sha256: &str) -> String {
    format!("{sha256}.json")
}

/// Written aside and renamed: several processes may do so at a time, and a reader sees a whole file or none.
fn write(folder: &Path, sha256: &str, known: &Known) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(known)?)?;
    file.persist(folder.join(file_name(sha256)))?;
    Ok(())
}

/// The folder, whether it is there or not. The specification of cache folders requires absolute paths.
fn folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("hookrack/plugins"))
}

/// Whether nobody else can write to the folder.
fn is_own(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    folder.metadata().is_ok_and(|meta| meta.uid() == own && meta.mode() & 0o022 == 0)
}
