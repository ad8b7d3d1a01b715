//! The bytes of a data file: mapped into memory, or unpacked if it is gzipped; errors name the file and the byte.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::error::{EngineError, Result};
use flate2::read::MultiGzDecoder;
use hookrack_torch::mapped_file::MappedFile;

/// A file's bytes.
#[derive(Debug)]
pub(super) struct FileBytes {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(MappedFile),
    Unpacked(Vec<u8>),
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a packed file may unpack to, however small it is.
const ALWAYS_UNPACKED: u64 = 64 << 20;
/// Beyond that: this many times its size. Deflate reaches 1,000 with zeros; images, texts and tables stay below 20.
const MOST_RATIO: u64 = 100;

impl FileBytes {
    /// Opens a file, gzipped or not: its first bytes say which. An empty one is an error.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| {
            let hint =
                if error.kind() == io::ErrorKind::NotFound { ": check the path" } else { "" };
            EngineError::Data(format!("cannot read {}: {error}{hint}", path.display()))
        };
        let file = File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        if facts.is_dir() {
            return Err(EngineError::Data(format!("{} is a folder, not a file", path.display())));
        }
        if facts.len() == 0 {
            return Err(at(path, 0, "the file is empty"));
        }
        let mapped = MappedFile::map(file).map_err(failed)?;
        let is_gzip = mapped.starts_with(&GZIP);
        let bytes =
            if is_gzip { Bytes::Unpacked(unpack(path, &mapped)?) } else { Bytes::Mapped(mapped) };
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Bytes that were unpacked from an archive.
    pub(super) fn unpacked(path: PathBuf, bytes: Vec<u8>) -> Self {
        Self { path, bytes: Bytes::Unpacked(bytes) }
    }

    /// The error for something wrong at a byte; of a gzipped file, of what is in it.
    pub(super) fn wrong(&self, offset: usize, why: impl AsRef<str>) -> EngineError {
        at(&self.path, offset, why.as_ref())
    }

    /// Whether all that was read was in the file.
    ///
    /// # Errors
    /// It was truncated, or can no longer be read.
    pub(super) fn check(&self) -> Result<()> {
        let Bytes::Mapped(mapped) = &self.bytes else { return Ok(()) };
        mapped.check().map_err(|lost| {
            let path = self.path.display();
            EngineError::Data(format!("{path}: {lost}: restore it, then continue with --resume"))
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(bytes) => bytes,
            Bytes::Unpacked(bytes) => bytes,
        }
    }
}

/// An error at a byte of a file.
pub(super) fn at(path: &Path, offset: usize, why: &str) -> EngineError {
    EngineError::Data(format!("{}, byte {offset}: {why}", path.display()))
}

/// The most bytes that a packed file of `packed` bytes is unpacked to.
pub(super) fn most_unpacked(packed: usize) -> u64 {
    (packed as u64).saturating_mul(MOST_RATIO).max(ALWAYS_UNPACKED)
}

/// Reads `packed` to its end; `None` if there are more bytes than `most`. `stated` is the length that the file states: memory for it
/// is reserved at once.
pub(super) fn read_bounded(
    packed: &mut impl Read,
    most: u64,
    stated: u64,
) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // The length may be wrong: without room for it, there may still be enough for the bytes.
    let _ = bytes.try_reserve(usize::try_from(stated.min(most)).unwrap_or_default());
    let read = packed.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((read as u64 <= most).then_some(bytes))
}

/// What is said about a packed file, or an array in one, that unpacks to too much.
pub(super) fn too_much(packed: usize, most: u64) -> String {
    format!(
        "unpacks to more than {most} bytes, the limit for a packed file of {packed} bytes: if it is meant to be that large, store it uncompressed"
    )
}

/// The length that a gzipped file states at its end, modulo 2³², of its last member.
fn stated_length(packed: &[u8]) -> u64 {
    packed.last_chunk().map_or(0, |length| u32::from_le_bytes(*length).into())
}

/// All of a gzipped file. The checksum at its end is verified.
fn unpack(path: &Path, packed: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = MultiGzDecoder::new(packed);
    let most = most_unpacked(packed.len());
    match read_bounded(&mut decoder, most, stated_length(packed)) {
        Ok(None) => Err(at(path, 0, &too_much(packed.len(), most))),
        Ok(Some(bytes)) if bytes.is_empty() => {
            Err(at(path, packed.len(), "the gzip stream is empty"))
        }
        Ok(Some(bytes)) => Ok(bytes),
        Err(error) => {
            let read = packed.len() - decoder.get_ref().len();
            let why = match error.kind() {
                io::ErrorKind::UnexpectedEof => "the gzip stream ends too early".to_owned(),
                _ => format!("the gzip stream is corrupt ({error})"),
            };
            Err(at(path, read, &format!("{why}: download or copy it again")))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Write;

    /// `bytes` as a gzip stream.
    pub(in super::super) fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn open(bytes: &[u8]) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, bytes).unwrap();
        let error = |error: EngineError| {
            EngineError::Data(error.to_string().replace(&folder.path().display().to_string(), ""))
        };
        FileBytes::open(&path).map(|bytes| bytes.to_vec()).map_err(error)
    }

    #[test]
    fn plain_and_gzipped_files_have_the_same_bytes() {
        assert_eq!(open(b"0123456789").unwrap(), b"0123456789");
        assert_eq!(open(&gzipped(b"0123456789")).unwrap(), b"0123456789");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_of_a_gzip_stream_is_an_error() {
        let whole = gzipped(&(0..=255).collect::<Vec<u8>>());
        // The timestamp, the comment flags and the operating system in the header do not matter.
        for byte in (10..whole.len()).step_by(7) {
            let mut flipped = whole.clone();
            flipped[byte] ^= 4;
            assert!(open(&flipped).is_err(), "byte {byte}");
        }
        for len in 2..whole.len() {
            let error = open(&whole[..len]).unwrap_err().to_string();
            assert!(error.contains("gzip stream") && error.contains(", byte "), "{error}");
        }
    }

    #[test]
    fn unpacking_ends_at_the_limit() {
        let read = |len: usize, most| read_bounded(&mut &vec![7_u8; len][..], most, 8).unwrap();
        assert_eq!(read(10, 10).map(|bytes| bytes.len()), Some(10));
        assert_eq!(read(11, 10), None);
        assert_eq!(most_unpacked(10), ALWAYS_UNPACKED);
        assert_eq!(most_unpacked(1 << 30), 100 << 30);
        assert_eq!(most_unpacked(usize::MAX), u64::MAX);
    }

    #[test]
    fn what_is_not_a_file_is_reported() {
        assert_eq!(
            open(b"").unwrap_err().to_string(),
            "data: data: /data, byte 0: the file is empty"
        );
        let error = FileBytes::open(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("data: cannot read /no/such/file: No such file"), "{error}");
        let error = FileBytes::open(Path::new("/")).unwrap_err().to_string();
        assert_eq!(error, "data: / is a folder, not a file");
    }
}
