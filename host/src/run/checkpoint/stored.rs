//! The tensors of a checkpoint on disk: reads any flat range of one from the files that contain it, and nothing else.

use crate::engine::{FlatRange, SavedTensors};
use crate::run::RunDirError;
use crate::run::safetensors_file::{KINDS, range_of};
use crate::torch::mapped_file::MappedFile;
use crate::torch::shape::number;
use safetensors::tensor::{SafeTensors, TensorInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tch::{Kind, Tensor};

/// Bytes before the header of a file: its length.
const HEADER_LENGTH: usize = 8;

/// Tensors by name, each whole in one file or in flat ranges in several. The files are memory-mapped: only what is requested is read.
#[derive(Debug, Default)]
pub struct Stored {
    folder: PathBuf,
    tensors: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    kind: Kind,
    shape: Vec<i64>,
    // In order, from the first element to the last.
    ranges: Vec<TensorLocation>,
}

/// Where a range of elements is.
#[derive(Clone, Debug)]
struct TensorLocation {
    range: Range<usize>,
    file: Rc<Mapped>,
    // The first byte of its first element.
    at: usize,
}

/// A file of a checkpoint in memory.
#[derive(Debug)]
pub(super) struct Mapped {
    path: PathBuf,
    bytes: MappedFile,
}

impl Mapped {
    /// Maps a file.
    pub(super) fn open(path: PathBuf) -> Result<Self, RunDirError> {
        let file = File::open(&path).map_err(RunDirError::io("read", &path))?;
        let length = file.metadata().map_err(RunDirError::io("read", &path))?.len();
        if length == 0 {
            return Err(RunDirError::damaged(&path, "it is empty"));
        }
        let bytes = MappedFile::map(file).map_err(RunDirError::io("read", &path))?;
        Ok(Self { path, bytes })
    }

    /// Its bytes. Call [`check`](Self::check) afterwards: the file may have been truncated.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// An error if the file was truncated while it was read.
    pub(super) fn check(&self) -> Result<(), RunDirError> {
        self.bytes.check().map_err(|lost| RunDirError::damaged(&self.path, lost.to_string()))
    }
}

impl Stored {
    /// The tensors of these files of `folder`.
    ///
    /// # Errors
    /// A file is not a safetensors file, or a range of a tensor is in none of them, or in two.
    pub(super) fn of(folder: &Path, files: Vec<Mapped>) -> Result<Self, RunDirError> {
        let mut tensors = BTreeMap::new();
        for file in files {
            enter(&mut tensors, &Rc::new(file))?;
        }
        for (name, entry) in &mut tensors {
            entry.ranges.sort_by_key(|placed| placed.range.start);
            check_whole(folder, name, entry)?;
        }
        Ok(Self { folder: folder.to_owned(), tensors })
    }

    /// The checkpoint that they are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// A tensor, in memory of its own.
    ///
    /// # Errors
    /// It does not exist, or its file can no longer be read.
    pub fn tensor(&self, name: &str) -> Result<Tensor, RunDirError> {
        let wrong = |why| RunDirError::Tensor { doing: "read", name: name.to_owned(), why };
        let entry = self.tensors.get(name).ok_or_else(|| wrong("it does not exist".to_owned()))?;
        let flat = entry.read(0..entry.len()).map_err(&wrong)?;
        flat.f_view(entry.shape.as_slice()).map_err(|error| wrong(error.to_string()))
    }

    /// All tensors, in the order of their names, in memory of their own.
    pub fn all(&self) -> Result<Vec<(String, Tensor)>, RunDirError> {
        self.names().map(|name| Ok((name.to_owned(), self.tensor(name)?))).collect()
    }
}

impl SavedTensors for Stored {
    fn names(&self) -> Vec<&str> {
        self.names().collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<i64>> {
        self.tensors.get(name).map(|entry| entry.shape.clone())
    }

    fn elements(&self, name: &str, range: Range<usize>) -> Result<Tensor, String> {
        self.tensors.get(name).ok_or("it does not exist")?.read(range)
    }
}

impl Entry {
    fn len(&self) -> usize {
        self.ranges.last().map_or(0, |placed| placed.range.end)
    }

    /// The elements of a range, assembled from the files that contain them.
    fn read(&self, wanted: Range<usize>) -> Result<Tensor, String> {
        let width = self.kind.elt_size_in_bytes();
        let mut parts = Vec::new();
        for TensorLocation { range, file, at } in &self.ranges {
            let (from, to) = (wanted.start.max(range.start), wanted.end.min(range.end));
            // An empty tensor has one empty range.
            if from >= to && !wanted.is_empty() {
                continue;
            }
            let (from, to) = (from - range.start, to.max(from) - range.start);
            let bytes = &file.bytes()[at + from * width..at + to * width];
            let length = number(to - from);
            let part = Tensor::f_from_data_size(bytes, &[length], self.kind);
            parts.push(part.map_err(|error| error.to_string())?);
            file.check().map_err(|error| error.to_string())?;
        }
        if wanted.end > self.len() {
            return Err(format!("it has no elements {}..{}", wanted.start, wanted.end));
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Tensor::f_cat(&parts, 0).map_err(|error| error.to_string()),
        }
    }
}

/// Adds the tensors of a file.
fn enter(tensors: &mut BTreeMap<String, Entry>, file: &Rc<Mapped>) -> Result<(), RunDirError> {
    let damaged = |why: String| RunDirError::damaged(&file.path, why);
    // Checks that every tensor is within the file, with the size that its dtype and shape need.
    let (header, metadata) =
        SafeTensors::read_metadata(file.bytes()).map_err(|error| damaged(error.to_string()))?;
    for (name, info) in metadata.tensors() {
        let known = KINDS.iter().find(|(dtype, ..)| *dtype == info.dtype);
        let unknown = || format!("the type {:?} of `{name}` is not supported", info.dtype);
        let (_, kind, _) = known.ok_or_else(|| damaged(unknown()))?;
        let said = metadata.metadata().as_ref().and_then(|ranges| ranges.get(&name));
        let FlatRange { shape, range } = part_of(info, said.map(String::as_str))
            .ok_or_else(|| damaged(format!("the range of `{name}` does not fit its numbers")))?;
        let entry = tensors.entry(name.clone());
        let entry = entry.or_insert_with(|| Entry {
            kind: *kind,
            shape: shape.clone(),
            ranges: Vec::new(),
        });
        if (&entry.shape, entry.kind) != (&shape, *kind) {
            return Err(damaged(format!("`{name}` has another shape or type in another file")));
        }
        let at = HEADER_LENGTH + header + info.data_offsets.0;
        entry.ranges.push(TensorLocation { range, file: Rc::clone(file), at });
    }
    file.check()
}

/// The range of a tensor in a file, from the metadata; the whole tensor without metadata.
fn part_of(info: &TensorInfo, said: Option<&str>) -> Option<FlatRange> {
    let count = info.shape.iter().product::<usize>();
    let whole = || FlatRange {
        shape: info.shape.iter().map(|&side| number(side)).collect(),
        range: 0..count,
    };
    let part = said.map_or_else(|| Some(whole()), range_of)?;
    (part.range.len() == count && elements(&part.shape).is_some()).then_some(part)
}

/// The number of elements of a shape, if it is one.
fn elements(shape: &[i64]) -> Option<i64> {
    let is_side = |side: &i64| *side >= 0;
    shape.iter().try_fold(1_i64, |count, side| count.checked_mul(Some(*side).filter(is_side)?))
}

/// An error unless the sorted ranges of a tensor contain every element exactly once.
fn check_whole(folder: &Path, name: &str, entry: &Entry) -> Result<(), RunDirError> {
    let count = elements(&entry.shape).unwrap_or(i64::MAX);
    let mut next = 0;
    for TensorLocation { range, file, .. } in &entry.ranges {
        if range.start != next {
            let (from, to) = (next.min(range.start), next.max(range.start));
            let how = if range.start > next { "none of its files has" } else { "two files have" };
            let why = format!("{how} elements {from}..{to} of `{name}`");
            return Err(RunDirError::damaged(&file.path, why));
        }
        next = range.end;
    }
    if number(next) == count {
        return Ok(());
    }
    let why = format!("none of its files has elements {next}..{count} of `{name}`");
    Err(RunDirError::damaged(folder, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TensorShard;
    use crate::run::safetensors_file;

    fn part(name: &str, shape: &[i64], range: Range<usize>) -> TensorShard {
        let numbers: Vec<i64> = range.clone().map(number).collect();
        let part = Some(FlatRange { shape: shape.to_vec(), range });
        TensorShard { name: name.to_owned(), tensor: Tensor::from_slice(&numbers), part }
    }

    fn stored(files: &[Vec<TensorShard>]) -> Result<Stored, String> {
        let folder = tempfile::tempdir().unwrap();
        let write = |(index, pieces): (usize, &Vec<TensorShard>)| {
            let path = folder.path().join(format!("{index}.safetensors"));
            let mut bytes = Vec::new();
            safetensors_file::lay_out(pieces, &mut bytes).unwrap();
            std::fs::write(&path, bytes).unwrap();
            Mapped::open(path).unwrap()
        };
        let files = files.iter().enumerate().map(write).collect();
        Stored::of(folder.path(), files).map_err(|error| error.to_string())
    }

    #[test]
    fn any_range_is_put_together_from_the_files_that_have_it() {
        let scalar = TensorShard::whole("step", Tensor::from(7.0_f32));
        let empty = TensorShard::whole("empty", Tensor::zeros([0, 3], tch::kind::FLOAT_CPU));
        let files = [
            vec![part("w", &[2, 5], 7..10), scalar],
            vec![part("w", &[2, 5], 0..4), empty],
            vec![part("w", &[2, 5], 4..7)],
        ];
        let stored = stored(&files).unwrap();
        assert_eq!(stored.names().collect::<Vec<_>>(), ["empty", "step", "w"]);
        for range in [0..10, 0..4, 3..8, 4..7, 9..10, 2..3] {
            let wanted: Vec<i64> = range.clone().map(number).collect();
            assert_eq!(stored.elements("w", range).unwrap(), Tensor::from_slice(&wanted));
        }
        assert_eq!(stored.tensor("w").unwrap().size(), [2, 5]);
        assert_eq!(stored.tensor("empty").unwrap().size(), [0, 3]);
        assert_eq!(stored.tensor("step").unwrap(), Tensor::from(7.0_f32));
        assert!(stored.elements("w", 8..12).is_err() && stored.tensor("x").is_err());
    }

    #[test]
    fn a_range_that_no_file_has_or_that_two_have_is_damage() {
        let fails = |files: &[Vec<TensorShard>]| stored(files).unwrap_err();
        let hole = fails(&[vec![part("w", &[9], 0..3)], vec![part("w", &[9], 5..9)]]);
        assert!(hole.ends_with("is damaged: none of its files has elements 3..5 of `w`"), "{hole}");
        let end = fails(&[vec![part("w", &[9], 0..3)]]);
        assert!(end.ends_with("none of its files has elements 3..9 of `w`"), "{end}");
        let twice = fails(&[vec![part("w", &[9], 0..6)], vec![part("w", &[9], 4..9)]]);
        assert!(twice.ends_with("two files have elements 4..6 of `w`"), "{twice}");
        let other = fails(&[vec![part("w", &[9], 0..6)], vec![part("w", &[3, 3], 6..9)]]);
        assert!(other.ends_with("`w` has another shape or type in another file"), "{other}");
    }
}
