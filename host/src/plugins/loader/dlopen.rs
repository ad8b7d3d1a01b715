//! Maps a library into the process; it is never unmapped.

use super::image::Image;
use super::sealed;
use super::text::one_line;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, IntoRawFd as _};

/// Why the system's loader refused a library.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum OpenError {
    #[error(
        "needs {library}, which is not on this machine: install it, or put its folder into LD_LIBRARY_PATH"
    )]
    MissingDependency { library: String },
    /// A library that it is linked to is in the same folder, which is not searched.
    #[error(
        "needs {library}, which is in the same folder, but that folder is not searched, because a plugin is loaded from memory: \
         put the folder into LD_LIBRARY_PATH, or link {library} statically"
    )]
    DependencyBeside { library: String },
    #[error(
        "needs {version} of {library}, which is older here: build it on this machine, or on an older one"
    )]
    OldDependency { library: String, version: String },
    #[error("undefined symbol {symbol}: link it with the library that defines it")]
    UndefinedSymbol { symbol: String },
    /// Not enough memory for a copy of it, or the kernel does not support files in memory.
    #[error("cannot be copied into memory: {reason}")]
    NoCopy { reason: String },
    /// Anything else that the system's loader says.
    #[error("the system's loader rejected it: {reason}")]
    Refused { reason: String },
}

/// A mapped library. Dropping it does not unmap it: tables and functions of it are in use until the process ends.
pub(super) struct Opened(ManuallyDrop<Library>);

/// Maps the bytes of `image`, from a sealed copy, and resolves every symbol of it: a missing one is an error here,
/// where it would be the end of the process at the first call otherwise. What happens to the file does not matter.
/// `prepare` is called between copying and mapping.
pub(super) fn open(
    image: &Image,
    prepare: impl FnOnce(BorrowedFd<'_>),
) -> Result<Opened, OpenError> {
    let copy = sealed::copy(image.file_name(), &image.bytes)
        .map_err(|cause| OpenError::NoCopy { reason: cause.to_string() })?;
    prepare(copy.as_fd());
    let path = format!("/proc/self/fd/{}", copy.as_raw_fd());
    // SAFETY: this runs the library's initializers. Whoever lists a library trusts its code; that its file is
    // whole was checked.
    let opened = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
    let library = opened.map_err(|error| explain(&error, &path, image))?;
    // Stays open: the system's loader knows a library by its path, and would take the next one of this number for it.
    let _ = copy.into_raw_fd();
    Ok(Opened(ManuallyDrop::new(library)))
}

impl Opened {
    /// The address of a symbol as a `T`; `None` if the library has no such symbol.
    ///
    /// # Safety
    /// `T` must be a pointer that is never null (`NonNull`, a reference, a function) and right for what the symbol
    /// names.
    pub(super) unsafe fn symbol<T: Copy>(&self, name: &str) -> Option<T> {
        // SAFETY: the caller vouches for `T`; an address of zero becomes `None`.
        let symbol = unsafe { self.0.get::<Option<T>>(name) }.ok()?.lift_option()?;
        Some(*symbol)
    }
}

fn explain(error: &libloading::Error, path: &str, image: &Image) -> OpenError {
    let libloading::Error::DlOpen { source } = error else {
        return OpenError::Refused { reason: one_line(&error.to_string()) };
    };
    let text = source.to_string().replace(path, &image.path.to_string_lossy());
    match explain_text(&text) {
        OpenError::MissingDependency { library } if image.folder().join(&library).exists() => {
            OpenError::DependencyBeside { library }
        }
        error => error,
    }
}

/// Sorts what glibc says. What it does not know stays in the loader's own words.
fn explain_text(text: &str) -> OpenError {
    const MISSING: &str = ": cannot open shared object file";
    if let Some((_, symbol)) = text.split_once("undefined symbol: ") {
        return OpenError::UndefinedSymbol { symbol: one_line(symbol) };
    }
    if let Some((library, version)) = too_old(text) {
        return OpenError::OldDependency { library: one_line(library), version: one_line(version) };
    }
    match text.split_once(MISSING) {
        Some((library, _)) => OpenError::MissingDependency { library: one_line(library) },
        None => OpenError::Refused { reason: one_line(text) },
    }
}

/// Library and version in "/lib/libc.so.6: version `GLIBC_2.99' not found (required by …)".
fn too_old(text: &str) -> Option<(&str, &str)> {
    let (library, rest) = text.split_once(": version `")?;
    let (version, _) = rest.split_once("' not found")?;
    Some((library.rsplit('/').next()?, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_too_old_dependency_is_distinguished_from_a_missing_one() {
        let text = "/lib/libc.so.6: version `GLIBC_2.99' not found (required by /p/libema.so)";
        let expected =
            OpenError::OldDependency { library: "libc.so.6".into(), version: "GLIBC_2.99".into() };
        assert_eq!(explain_text(text), expected);
    }

    #[test]
    fn what_nobody_foresaw_keeps_the_loaders_words() {
        let text = "/p/libema.so: failed to map segment from shared object";
        assert_eq!(explain_text(text), OpenError::Refused { reason: text.into() });
    }
}
