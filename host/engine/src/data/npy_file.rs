//! NumPy's format: a magic number, a header that is a Python literal, and the array.

use std::sync::Arc;

use super::array::{Array, Number};
use super::file_bytes::FileBytes;
use crate::error::Result;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The array of a `.npy` file.
pub(super) fn array(file: FileBytes) -> Result<Array> {
    let file = Arc::new(file);
    if !file.starts_with(MAGIC) {
        return Err(file.wrong(0, "not a NumPy file: it must begin with \\x93NUMPY"));
    }
    // Version 1 has two bytes for the length of the header, the later ones four.
    let (at, len) = match file.get(6..12) {
        Some([1, _, a, b, ..]) => (10, usize::from(u16::from_le_bytes([*a, *b]))),
        Some([2 | 3, _, a, b, c, d]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        Some([version, ..]) => {
            return Err(
                file.wrong(6, format!("version {version} of the NumPy format is not supported"))
            );
        }
        _ => return Err(cut_off(&file)),
    };
    let header = file.get(at..at + len).ok_or_else(|| cut_off(&file))?;
    let header = String::from_utf8_lossy(header).into_owned();
    let wrong = |why: String| file.wrong(at, why);
    let descr =
        text(&header, "descr").ok_or_else(|| wrong(format!("no type in the header {header:?}")))?;
    let number = number(descr).ok_or_else(|| {
        wrong(format!(
            "type {descr} is not supported: save the array as uint8 to uint64, int8 to int64, float32 or float64"
        ))
    })?;
    if value(&header, "fortran_order").is_some_and(|order| order.starts_with("True")) {
        return Err(wrong(
            "the array is in Fortran order: save np.ascontiguousarray(it)".to_owned(),
        ));
    }
    let sides =
        sides(&header).ok_or_else(|| wrong(format!("no shape in the header {header:?}")))?;
    Array::new(Arc::clone(&file), number, sides, at + len)
}

fn cut_off(file: &FileBytes) -> crate::EngineError {
    file.wrong(file.len(), "the file ends within its header: download or copy it again")
}

/// What follows `'key':`.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    Some(rest.trim_start())
}

fn text<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    value(header, key)?.strip_prefix('\'')?.split('\'').next()
}

fn sides(header: &str) -> Option<Vec<usize>> {
    let (inside, _) = value(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let sides = inside.split(',').map(str::trim).filter(|side| !side.is_empty());
    sides.map(|side| side.parse().ok()).collect()
}

fn number(descr: &str) -> Option<Number> {
    match descr {
        "|u1" => Some(Number::U8),
        "|i1" => Some(Number::I8),
        "<u2" => Some(Number::U16),
        "<i2" => Some(Number::I16),
        "<u4" => Some(Number::U32),
        "<i4" => Some(Number::I32),
        "<u8" => Some(Number::U64),
        "<i8" => Some(Number::I64),
        "<f4" => Some(Number::F32),
        "<f8" => Some(Number::F64),
        _ => None,
    }
}
