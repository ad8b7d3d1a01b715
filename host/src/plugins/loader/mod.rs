//! The loader: a file becomes a [`Library`] by passing one named step after another.
//!
//! ```text
//! locate       the path, absolute and without links
//! read         a readable, regular file; its bytes are read once, and all later steps use these
//! permissions  only trusted users could have created it or can change it
//! elf          a whole ELF shared library for this machine; a truncated one would end the process in dlopen
//! dlopen       mapped from a sealed copy in memory, every symbol resolved; it stays for the life of the process
//! root         its table, by the Rust symbol or by the C one
//! header       the table is a hookrack table of this major version
//! flags        its panics can be caught
//! manifests    what each hook and metric says about itself
//! catalogue    a config can name all of it; the inventory asks this, once it has all libraries
//! ```
//! A step is a function with its own error type, and does not depend on the others. Up to `elf` nothing of the library
//! runs: that is [`image`]. From `dlopen` on its code does: that is [`map`], in the host, or `try_out`, in a probe.

mod description;
mod dlopen;
mod elf;
mod error;
mod image;
mod layout;
mod library;
mod locate;
mod machine;
mod manifest;
mod permissions;
mod root;
mod sealed;
mod table;
mod text;

pub use description::{Description, LibraryInfo, TypeInfo};
pub use dlopen::OpenError;
pub use elf::ElfError;
pub use error::{LoadError, Refusal, VersionMismatch};
pub use image::Image;
pub use layout::LayoutMismatch;
pub use library::{HookType, Library, MetricType, Source};
pub use locate::{LocateError, ReadError, folder, read_text};
pub use manifest::{HookManifest, ManifestError, MetricManifest};
pub use permissions::{AccessFault, PermissionError, check_permissions};
pub use root::RootError;
pub use table::{FlagsError, TableError, check_library_header};
pub use text::visible;

use dlopen::Opened;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What this process has mapped, by path without links and sha256.
static MAPPED: Mutex<BTreeMap<(PathBuf, String), Arc<Library>>> = Mutex::new(BTreeMap::new());

/// Loads a library, or returns the one loaded from this path before, if it is still the same file.
///
/// The library's initializers run in here, and it is never unloaded.
pub fn open(path: &Path) -> Result<Arc<Library>, LoadError> {
    map(&image(path, None)?)
}

/// The steps before the library runs. With `folders`, without links, a link that leads out of them is refused.
pub fn image(path: &Path, folders: Option<&[PathBuf]>) -> Result<Image, LoadError> {
    let refused = |reason| LoadError::of_library(path, reason);
    let file = locate::locate(path).map_err(|error| refused(error.into()))?;
    permissions::check_link(path).map_err(|error| refused(error.into()))?;
    Image::read(file, folders).map_err(refused)
}

/// The steps in which the library runs; it stays mapped.
pub fn map(image: &Image) -> Result<Arc<Library>, LoadError> {
    let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (image.path.clone(), image.sha256.clone());
    if let Some(library) = mapped.get(&key) {
        return Ok(Arc::clone(library));
    }
    let library = try_out(image, |_| {});
    let library = library.map_err(|why| LoadError::of_image(&image.path, image, why))?;
    let library = Arc::new(library);
    tracing::debug!(library = %image.path.display(), sha256 = image.sha256, "loaded");
    mapped.insert(key, Arc::clone(&library));
    Ok(library)
}

/// As [`map`], for a process that ends right after. `prepare` is called once the sealed copy is there, just before the
/// library's code runs.
pub(super) fn try_out(
    image: &Image,
    prepare: impl FnOnce(BorrowedFd<'_>),
) -> Result<Library, Refusal> {
    let opened = dlopen::open(image, prepare)?;
    describe(&opened, image)
}

fn describe(opened: &Opened, image: &Image) -> Result<Library, Refusal> {
    let root = root::find(opened)?;
    let plugin = table::plugin(root)?;
    table::check_flags(plugin)?;
    Library::of_table(plugin, image)
}
