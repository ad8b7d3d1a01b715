//! An array of numbers in a file's bytes: its type, its shape, and one sample of it at a time.

use std::sync::Arc;

use super::file_bytes::FileBytes;
use super::size;
use crate::error::Result;

/// The type of an array's numbers, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Number {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    pub(super) fn is_int(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// The largest value of an unsigned type that fits into an `i64`; `None` for any other type.
    pub(super) fn unsigned_max(self) -> Option<i64> {
        match self {
            Self::U8 => Some(u8::MAX.into()),
            Self::U16 => Some(u16::MAX.into()),
            Self::U32 => Some(u32::MAX.into()),
            _ => None,
        }
    }
}

/// An array whose first dimension is the sample.
#[derive(Debug, Clone)]
pub(super) struct Array {
    file: Arc<FileBytes>,
    pub(super) number: Number,
    pub(super) sides: Vec<usize>,
    start: usize,
}

impl Array {
    /// An array at a byte of a file, which must hold all of it.
    pub(super) fn new(
        file: Arc<FileBytes>,
        number: Number,
        sides: Vec<usize>,
        start: usize,
    ) -> Result<Self> {
        if sides.is_empty() || sides.contains(&0) {
            return Err(file.wrong(start, format!("an array of shape {sides:?} has no sample")));
        }
        let product =
            sides.iter().try_fold(number.bytes(), |product, side| product.checked_mul(*side));
        let end = product.and_then(|bytes| bytes.checked_add(start));
        match end {
            Some(end) if end <= file.len() => Ok(Self { file, number, sides, start }),
            _ => {
                let why = format!(
                    "the file ends here, but an array of shape {sides:?} begins at byte {start}: download or copy it again"
                );
                Err(file.wrong(file.len(), why))
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sides[0]
    }

    /// The shape of one sample.
    pub(super) fn sample_shape(&self) -> Vec<i64> {
        self.sides[1..].iter().map(|side| size(*side)).collect()
    }

    /// The bytes of one sample.
    pub(super) fn sample(&self, index: usize) -> &[u8] {
        let stride = self.sides[1..].iter().product::<usize>() * self.number.bytes();
        let start = self.start + index * stride;
        &self.file[start..start + stride]
    }

    /// The numbers of one sample as floats.
    pub(super) fn floats(&self, index: usize) -> impl Iterator<Item = f32> {
        let number = self.number;
        self.sample(index).chunks_exact(number.bytes()).map(move |bytes| float(number, bytes))
    }

    /// The first number of one sample as an integer; 0 for a float.
    pub(super) fn int(&self, index: usize) -> i64 {
        int(self.number, self.sample(index))
    }

    /// How many numbers there are in all samples.
    pub(super) fn numbers(&self) -> usize {
        self.sides.iter().product()
    }

    /// Some of all numbers, as integers; 0 for a float.
    pub(super) fn ints(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = i64> {
        let (number, width) = (self.number, self.number.bytes());
        let bytes = &self.file[self.start + places.start * width..self.start + places.end * width];
        bytes.chunks_exact(width).map(move |bytes| int(number, bytes))
    }

    /// The error for something wrong with one of all numbers.
    pub(super) fn wrong_number(&self, place: usize, why: &str) -> crate::EngineError {
        self.file.wrong(self.start + place * self.number.bytes(), why)
    }

    /// Whether all that was read was in the file.
    pub(super) fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// The error for something wrong with one sample.
    pub(super) fn wrong(&self, index: usize, why: &str) -> crate::EngineError {
        let stride = self.sample(index).len();
        self.file.wrong(self.start + index * stride, why)
    }
}

fn word<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "samples are f32, whatever they were kept in"
)]
fn float(number: Number, bytes: &[u8]) -> f32 {
    match number {
        Number::F32 => f32::from_le_bytes(word(bytes)),
        Number::F64 => f64::from_le_bytes(word(bytes)) as f32,
        Number::U64 => u64::from_le_bytes(word(bytes)) as f32,
        _ => int(number, bytes) as f32,
    }
}

fn int(number: Number, bytes: &[u8]) -> i64 {
    match number {
        Number::U8 => i64::from(u8::from_le_bytes(word(bytes))),
        Number::I8 => i64::from(i8::from_le_bytes(word(bytes))),
        Number::U16 => i64::from(u16::from_le_bytes(word(bytes))),
        Number::I16 => i64::from(i16::from_le_bytes(word(bytes))),
        Number::U32 => i64::from(u32::from_le_bytes(word(bytes))),
        Number::I32 => i64::from(i32::from_le_bytes(word(bytes))),
        // A larger number is neither a class nor a token.
        Number::U64 => i64::try_from(u64::from_le_bytes(word(bytes))).unwrap_or(i64::MAX),
        Number::I64 => i64::from_le_bytes(word(bytes)),
        Number::F32 | Number::F64 => 0,
    }
}
