//! The loader: a file becomes a [`Library`] by passing one named step after another.
//!
//! ```text
//! locate     the path, absolute and without links
//! read       a readable, regular file
//! elf        a whole ELF shared library for this machine; a truncated one would end the process in dlopen
//! digest     its sha256
//! dlopen     mapped, every symbol resolved; from here on it stays for the life of the process
//! root       its table, by the Rust symbol or by the C one
//! header     the table is a hookrack table of this major version
//! flags      its panics can be caught
//! manifests  what each hook and metric says about itself
//! catalogue  a config can name all of it; the inventory asks this, once it has all libraries
//! ```
//! A step is a function with an error of its own, and knows nothing of the others: a check that has to come before
//! dlopen (a lock file, a signature, a trial in another process) is one more line in `load`.

mod digest;
mod dlopen;
mod elf;
mod error;
mod layout;
mod library;
mod locate;
mod machine;
mod manifest;
mod plugin_set;
mod root;
mod table;
mod text;

pub use dlopen::OpenError;
pub use elf::ElfError;
pub use error::{LoadError, Refusal, VersionMismatch};
pub use layout::LayoutMismatch;
pub use library::{HookType, Library, MetricType, Source};
pub use locate::{LocateError, ReadError};
pub use manifest::{HookManifest, ManifestError, MetricManifest};
pub use plugin_set::PluginSet;
pub use root::RootError;
pub use table::{FlagsError, TableError};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What this process has loaded, by canonical path. The system's loader keeps the first library of a path too, so
/// that reading a file again which has changed since would only tell a sha256 that is not the loaded one's.
static LOADED: Mutex<BTreeMap<PathBuf, Arc<Library>>> = Mutex::new(BTreeMap::new());

/// Loads a library, or returns the one loaded from this path before.
///
/// The library's initialisers run in here, and it is never unloaded.
///
/// # Errors
/// The step that refused it, in one line.
pub fn open(path: &Path) -> Result<Arc<Library>, LoadError> {
    let refused = |reason| LoadError::of_library(path, reason);
    let file = locate::locate(path).map_err(|error| refused(error.into()))?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = loaded.get(&file) {
        return Ok(Arc::clone(library));
    }
    let library = Arc::new(load(&file).map_err(refused)?);
    tracing::debug!(library = %file.display(), sha256 = library.sha256, "loaded");
    loaded.insert(file, Arc::clone(&library));
    Ok(library)
}

/// The steps, in order.
fn load(file: &Path) -> Result<Library, Refusal> {
    let bytes = locate::read(file)?;
    elf::check(&bytes)?;
    let sha256 = digest::sha256(&bytes);
    let opened = dlopen::open(file)?;
    let root = root::find(&opened)?;
    let plugin = table::plugin(root)?;
    table::check_flags(plugin)?;
    Library::of_table(plugin, file, sha256)
}
