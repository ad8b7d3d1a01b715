//! From a path as written to the bytes of a file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// More than any library has; a file is read whole.
const LARGEST: u64 = 4 << 30;

/// More than a lock file of thousands of libraries has.
const LONGEST_TEXT: u64 = 16 << 20;

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LocateError {
    #[error("no such file: check the name, and that the library was built and copied there")]
    Missing,
    #[error("no such folder: check `plugins.dirs`")]
    NoFolder,
    #[error("not a folder: `plugins.dirs` lists folders, a single library is named by `library`")]
    NotAFolder,
    #[error("a link to {}, which does not exist: fix the link", .target.display())]
    BrokenLink { target: PathBuf },
    /// A folder on the way cannot be entered, or the links go round in circles.
    #[error("cannot be reached: {cause}")]
    Unreachable { cause: io::Error },
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ReadError {
    #[error("is a folder, not a library: name a file in it, or list the folder in `plugins.dirs`")]
    Folder,
    #[error("is a pipe, a socket or a device, not a library file")]
    NotAFile,
    #[error("has {size} bytes, more than any library: use the .so file that the build produced")]
    TooLarge { size: u64 },
    #[error("is not readable by this user: check its permissions (chmod a+r)")]
    Forbidden,
    #[error("cannot be read: {cause}")]
    Io { cause: io::Error },
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

/// A regular file, and what the system says about the very file that its bytes will be from.
pub(super) fn open(file: &Path) -> Result<(File, Metadata), ReadError> {
    check_kind(&file.metadata()?)?;
    // Opening a pipe that took the file's place meanwhile must not wait for a writer.
    let no_waiting = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(no_waiting).open(file)?;
    let meta = opened.metadata()?;
    check_kind(&meta)?;
    Ok((opened, meta))
}

/// Appends the bytes of a file, at most this many.
pub(super) fn read(file: &File, most: u64, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
    let size = file.metadata()?.len().min(most);
    bytes
        .try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))
        .map_err(io::Error::from)?;
    file.take(most).read_to_end(bytes)?;
    Ok(())
}

/// The text of a file beside the libraries: a lock file, a signature, a key or a policy.
///
/// # Errors
/// It is not a file of that kind, or cannot be read.
pub fn read_text(file: &Path) -> io::Result<String> {
    let (opened, meta) = open(file).map_err(|error| match error {
        ReadError::Forbidden => io::ErrorKind::PermissionDenied.into(),
        ReadError::Io { cause } => cause,
        error => io::Error::other(error.to_string().replace(", not a library file", "")),
    })?;
    if meta.len() > LONGEST_TEXT {
        return Err(io::Error::other(format!("it has {} bytes, too many", meta.len())));
    }
    io::read_to_string(opened.take(LONGEST_TEXT))
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
