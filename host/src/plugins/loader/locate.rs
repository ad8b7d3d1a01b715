//! From a path as written to the bytes of a file.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// More than any library has; a file is read whole.
const LARGEST: u64 = 4 << 30;

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// There is nothing under that name.
    #[error("no such file: check the name, and that the library was built and copied there")]
    Missing,
    /// A folder to search does not exist.
    #[error("no such folder: check `plugins.dirs`")]
    NoFolder,
    /// It is not a folder.
    #[error("not a folder: `plugins.dirs` lists folders, a single library is named by `library`")]
    NotAFolder,
    /// A link points to nothing.
    #[error("a link to {}, which does not exist: fix the link", .target.display())]
    BrokenLink {
        /// What it points to.
        target: PathBuf,
    },
    /// A folder on the way cannot be entered, or the links go round in circles.
    #[error("cannot be reached: {cause}")]
    Unreachable {
        /// The system's reason.
        cause: io::Error,
    },
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is a folder.
    #[error("is a folder, not a library: name a file in it, or list the folder in `plugins.dirs`")]
    Folder,
    /// It is a pipe, a socket or a device.
    #[error("is a pipe, a socket or a device, not a library file")]
    NotAFile,
    /// It is absurdly large.
    #[error("has {size} bytes, more than any library: use the .so file that the build produced")]
    TooLarge {
        /// Its size.
        size: u64,
    },
    /// The user that runs the host may not read it.
    #[error("is not readable by this user: check its permissions (chmod a+r)")]
    Forbidden,
    /// The disk or the network says no.
    #[error("cannot be read: {cause}")]
    Io {
        /// The system's reason.
        cause: io::Error,
    },
}

/// The absolute path without links: what is handed to dlopen, which would search elsewhere for a bare name.
pub(super) fn locate(path: &Path) -> Result<PathBuf, LocateError> {
    path.canonicalize().map_err(|cause| match (cause.kind(), path.read_link()) {
        (io::ErrorKind::NotFound, Ok(target)) => LocateError::BrokenLink { target },
        (io::ErrorKind::NotFound, Err(_)) => LocateError::Missing,
        _ => LocateError::Unreachable { cause },
    })
}

/// The entries of a folder.
///
/// # Errors
/// It is not there, not a folder, or may not be read.
pub fn folder(dir: &Path) -> Result<impl Iterator<Item = PathBuf>, LocateError> {
    let entries = std::fs::read_dir(dir).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => LocateError::NoFolder,
        io::ErrorKind::NotADirectory => LocateError::NotAFolder,
        _ => LocateError::Unreachable { cause },
    })?;
    Ok(entries.filter_map(Result::ok).map(|entry| entry.path()))
}

/// All bytes of a regular file, and what the system says about the very file that they are from.
pub(super) fn read(file: &Path) -> Result<(Vec<u8>, Metadata), ReadError> {
    check_kind(&file.metadata()?)?;
    // Opening a pipe that took the file's place meanwhile must not wait for a writer.
    let no_waiting = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut opened = OpenOptions::new().read(true).custom_flags(no_waiting).open(file)?;
    let meta = opened.metadata()?;
    check_kind(&meta)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    opened.read_to_end(&mut bytes)?;
    Ok((bytes, meta))
}

fn check_kind(meta: &Metadata) -> Result<(), ReadError> {
    let (kind, size) = (meta.file_type(), meta.len());
    if kind.is_dir() {
        Err(ReadError::Folder)
    } else if !kind.is_file() {
        Err(ReadError::NotAFile)
    } else if size > LARGEST {
        Err(ReadError::TooLarge { size })
    } else {
        Ok(())
    }
}

impl From<io::Error> for ReadError {
    fn from(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::PermissionDenied => Self::Forbidden,
            _ => Self::Io { cause },
        }
    }
}
