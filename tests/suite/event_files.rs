//! Reads TensorBoard's event files, to the bit and without TensorBoard.

use std::collections::BTreeMap;
use std::path::Path;

/// Steps and bytes of each scalar, picture, histogram and text, in the order of the steps.
pub(crate) type Shown = BTreeMap<String, Vec<(u64, Vec<u8>)>>;

/// The contents of all event files of a folder. A duplicate step is a duplicate here too; what each file begins and ends
/// with, the config and when that process ran, is left out.
pub(crate) fn shown(folder: &Path) -> Shown {
    let mut found = Shown::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        records(&bytes).for_each(|event| take_event(event, &mut found));
    }
    for row in found.values_mut() {
        row.sort_unstable();
    }
    found
}

/// The messages of a file, each framed by its length and two checksums.
fn records(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, _) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
        let message = &rest[12..12 + length];
        rest = &rest[16 + length..];
        Some(message)
    })
}

/// `Event`: 2 is the step, 5 the summary; its 1 are values, of which 1 is the tag.
fn take_event(event: &[u8], found: &mut Shown) {
    let step = fields(event).find_map(|(number, field)| field.number().filter(|_| number == 2));
    let Some(step) = step else { return };
    for (_, summary) in fields(event).filter(|(number, _)| *number == 5) {
        for (_, value) in fields(summary.bytes()).filter(|(number, _)| *number == 1) {
            let (_, tag) = fields(value.bytes()).find(|(number, _)| *number == 1).unwrap();
            let row = found.entry(String::from_utf8(tag.bytes().to_vec()).unwrap()).or_default();
            row.push((step, value.bytes().to_vec()));
        }
    }
}

/// A field of a message.
#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Number(_) => &[],
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The fields of a message with their numbers.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let key = varint(&mut rest);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut rest)),
            1 => Field::Number(u64::from_le_bytes(take(&mut rest, 8).try_into().unwrap())),
            2 => {
                let length = usize::try_from(varint(&mut rest)).unwrap();
                Field::Bytes(take(&mut rest, length))
            }
            5 => Field::Number(u32::from_le_bytes(take(&mut rest, 4).try_into().unwrap()).into()),
            other => panic!("no wire type {other} in an event file"),
        };
        Some((key >> 3, field))
    })
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, after) = rest.split_at(count);
    *rest = after;
    taken
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}
