//! The IDX format of MNIST: a magic number, the sides of an array, and its bytes.

use std::path::Path;

use super::file_bytes::FileBytes;
use crate::error::Result;

/// An array of bytes in an IDX file.
#[derive(Debug)]
pub(super) struct IdxFile {
    file: FileBytes,
    /// All sides; the first is the number of samples.
    pub(super) sides: Vec<usize>,
    /// Where the array begins.
    start: usize,
    /// Bytes of one sample.
    stride: usize,
}

/// The type code of bytes, the only one used for images and labels.
const BYTES: u8 = 8;

impl IdxFile {
    /// Opens a file and checks that its length is exactly what the header says.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = FileBytes::open(path)?;
        let [zero, nought, kind, dims] = *word(&file, 0)?;
        if (zero, nought) != (0, 0) {
            return Err(file.wrong(0, "not an IDX file: it must begin with two zero bytes"));
        }
        if kind != BYTES || dims == 0 {
            let why = format!(
                "an IDX file of type {kind} with {dims} dimensions: only bytes (type 8) are supported"
            );
            return Err(file.wrong(2, why));
        }
        let dims = usize::from(dims);
        let mut sides = Vec::with_capacity(dims);
        for side in 0..dims {
            sides.push(u32::from_be_bytes(*word(&file, 4 + 4 * side)?) as usize);
        }
        let start = 4 + 4 * dims;
        let stride = product(&sides[1..]);
        let wanted = stride.and_then(|stride| stride.checked_mul(sides[0])?.checked_add(start));
        let Some((stride, wanted)) = stride.zip(wanted) else {
            return Err(file.wrong(4, format!("shape {sides:?} does not fit into memory")));
        };
        if sides[0] == 0 || stride == 0 {
            return Err(file.wrong(4, format!("shape {sides:?}: the file has no sample")));
        }
        if file.len() != wanted {
            let found = file.len();
            let why = if found < wanted {
                format!(
                    "the file ends here, but shape {sides:?} needs {wanted} bytes: download or copy it again"
                )
            } else {
                format!("shape {sides:?} ends here, but the file continues to byte {found}")
            };
            return Err(file.wrong(found.min(wanted), why));
        }
        Ok(Self { file, sides, start, stride })
    }

    pub(super) fn len(&self) -> usize {
        self.sides[0]
    }

    /// The bytes of one sample.
    pub(super) fn sample(&self, index: usize) -> &[u8] {
        let start = self.start + index * self.stride;
        self.file.get(start..start + self.stride).unwrap_or_default()
    }

    /// All samples, one after the other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.file[self.start..]
    }

    /// Whether all that was read was in the file.
    pub(super) fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// The error for something wrong at a byte of the array.
    pub(super) fn wrong(&self, byte: usize, why: impl AsRef<str>) -> crate::EngineError {
        self.file.wrong(self.start + byte, why)
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}

fn word(file: &FileBytes, at: usize) -> Result<&[u8; 4]> {
    let found = file.get(at..).and_then(<[u8]>::first_chunk);
    found.ok_or_else(|| {
        file.wrong(file.len(), "the file ends within its header: download or copy it again")
    })
}

fn product(sides: &[usize]) -> Option<usize> {
    sides.iter().try_fold(1_usize, |product, side| product.checked_mul(*side))
}
