//! Reads and writes tensors in safetensors files.

use super::error::RunDirError;
use super::{atomic, json_file};
use crate::engine::{FlatRange, TensorShard};
use crate::torch::dlpack::View;
use safetensors::tensor::{Dtype, SafeTensors};
use serde_json::{Map, Value as Json, json};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use tch::{Kind, Tensor};

/// The dtypes that both libtorch and safetensors have.
pub(super) const KINDS: [(Dtype, Kind, &str); 10] = [
    (Dtype::F32, Kind::Float, "F32"),
    (Dtype::F64, Kind::Double, "F64"),
    (Dtype::F16, Kind::Half, "F16"),
    (Dtype::BF16, Kind::BFloat16, "BF16"),
    (Dtype::I64, Kind::Int64, "I64"),
    (Dtype::I32, Kind::Int, "I32"),
    (Dtype::I16, Kind::Int16, "I16"),
    (Dtype::I8, Kind::Int8, "I8"),
    (Dtype::U8, Kind::Uint8, "U8"),
    (Dtype::BOOL, Kind::Bool, "BOOL"),
];

/// A tensor and its place in a file.
struct TensorLocation<'a> {
    name: &'a str,
    tensor: &'a Tensor,
    part: Option<&'a FlatRange>,
    dtype: &'static str,
    kind: Kind,
    bytes: usize,
}

fn place(piece: &TensorShard) -> Result<TensorLocation<'_>, String> {
    let TensorShard { name, tensor, part } = piece;
    let kind = tensor.f_kind().map_err(|e| e.to_string())?;
    let found = KINDS.iter().find(|(_, k, _)| *k == kind);
    let (_, _, dtype) = found.ok_or_else(|| format!("safetensors has no type for {kind:?}"))?;
    let bytes = tensor.numel() * kind.elt_size_in_bytes();
    Ok(TensorLocation { name, tensor, part: part.as_ref(), dtype, kind, bytes })
}

/// A tensor that a file can store: dense, of a dtype that safetensors has. A handle, not a copy.
pub fn storable(tensor: &Tensor) -> Result<Tensor, String> {
    View::of(tensor).map_err(|error| error.to_string())?;
    place(&TensorShard::whole("", tensor.shallow_clone()))?;
    // A lazily negated view: its memory has other numbers.
    tensor.f_resolve_neg().map_err(|error| error.to_string())
}

/// Writes named tensors to a file atomically.
pub fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), RunDirError> {
    let mut bytes = Vec::new();
    lay_out(&whole(tensors), &mut bytes)?;
    atomic::write(path, &bytes)
}

/// Whole tensors as pieces; handles, not copies.
pub fn whole(tensors: &[(String, Tensor)]) -> Vec<TensorShard> {
    let piece = |(name, tensor): &(String, Tensor)| {
        TensorShard::whole(name.clone(), tensor.shallow_clone())
    };
    tensors.iter().map(piece).collect()
}

/// Fills `buffer` with the bytes of a file of these tensors. Each tensor's memory is copied once, and the buffer's
/// memory is reused. Ranges of partial tensors are in the file's metadata.
pub fn lay_out(tensors: &[TensorShard], buffer: &mut Vec<u8>) -> Result<(), RunDirError> {
    let (placed, header, total) = plan(tensors)?;
    if buffer.capacity() < total {
        *buffer = fresh(total)?;
    }
    buffer.resize(total, 0);
    buffer[..8].copy_from_slice(&(header.len() as u64).to_le_bytes());
    buffer[8..8 + header.len()].copy_from_slice(header.as_bytes());
    let mut rest = &mut buffer[8 + header.len()..];
    for TensorLocation { name, tensor, bytes, .. } in placed {
        let (here, after) = rest.split_at_mut(bytes);
        let copied = tensor.f_detach().and_then(|t| t.f_copy_data_u8(here, t.numel()));
        copied.map_err(|e| wrong(name, e.to_string()))?;
        rest = after;
    }
    Ok(())
}

/// The bytes of a file of these tensors.
pub fn size(tensors: &[TensorShard]) -> Result<usize, RunDirError> {
    plan(tensors).map(|(_, _, total)| total)
}

fn wrong(name: &str, why: String) -> RunDirError {
    RunDirError::Tensor { doing: "save", name: name.to_owned(), why }
}

/// The layout: the tensors in the order of the file, its header, and its size.
fn plan(tensors: &[TensorShard]) -> Result<(Vec<TensorLocation<'_>>, String, usize), RunDirError> {
    let mut placed = Vec::with_capacity(tensors.len());
    for piece in tensors {
        placed.push(place(piece).map_err(|why| wrong(&piece.name, why))?);
    }
    // Wide dtypes first, so that each tensor is aligned to its width.
    placed.sort_by(|a, b| {
        (b.kind.elt_size_in_bytes(), a.name).cmp(&(a.kind.elt_size_in_bytes(), b.name))
    });
    let header = header(&placed);
    let total = 8 + header.len() + placed.iter().map(|p| p.bytes).sum::<usize>();
    Ok((placed, header, total))
}

/// This many zeros, all of them written; an error if there is not enough memory.
pub fn fresh(total: usize) -> Result<Vec<u8>, RunDirError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(total).map_err(|_| RunDirError::NoMemory { bytes: total })?;
    bytes.resize(total, 0);
    Ok(bytes)
}

/// An upper bound for a tensor's entry in the header of a file.
const ENTRY: usize = 256;

/// An upper bound for the size of a file of tensors whose names are not known yet.
pub fn room_for<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> usize {
    let width = |tensor: &Tensor| tensor.f_kind().map_or(0, Kind::elt_size_in_bytes);
    tensors.map(|tensor| ENTRY + tensor.numel() * width(tensor)).sum()
}

/// A tensor's elements as contiguous bytes.
pub fn bytes_of(tensor: &Tensor) -> Result<Vec<u8>, String> {
    let kind = tensor.f_kind().map_err(|e| e.to_string())?;
    let mut bytes = vec![0; tensor.numel() * kind.elt_size_in_bytes()];
    let copied = tensor.f_detach().and_then(|t| t.f_copy_data_u8(&mut bytes, t.numel()));
    copied.map(|()| bytes).map_err(|e| e.to_string())
}

/// The key of a file's metadata among its tensors.
const METADATA: &str = "__metadata__";

/// A range in the metadata: a string, the only type that safetensors allows there.
fn range_text(FlatRange { shape, range }: &FlatRange) -> String {
    json!({ "shape": shape, "range": [range.start, range.end] }).to_string()
}

/// Parses a range of the metadata.
pub(super) fn range_of(text: &str) -> Option<FlatRange> {
    let said: Json = serde_json::from_str(text).ok()?;
    let shape = said["shape"].as_array()?.iter().map(Json::as_i64).collect::<Option<_>>()?;
    let place = |index: usize| usize::try_from(said["range"][index].as_u64()?).ok();
    Some(FlatRange { shape, range: place(0)?..place(1)? })
}

/// The header, padded so that the first tensor begins at a multiple of 8.
fn header(placed: &[TensorLocation<'_>]) -> String {
    let mut entries = Map::new();
    let mut at = 0;
    let parts = placed.iter().filter_map(|placed| Some((placed.name, placed.part?)));
    let ranges: Map<_, _> =
        parts.map(|(name, part)| (name.to_owned(), range_text(part).into())).collect();
    if !ranges.is_empty() {
        entries.insert(METADATA.to_owned(), Json::Object(ranges));
    }
    for TensorLocation { name, tensor, dtype, bytes, .. } in placed {
        let entry =
            json!({ "dtype": dtype, "shape": tensor.size(), "data_offsets": [at, at + bytes] });
        entries.insert((*name).to_owned(), entry);
        at += bytes;
    }
    let mut header = Json::Object(entries).to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    header
}

/// Reads every tensor of a file, in the order of the names.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, RunDirError> {
    from_bytes(path, &fs::read(path).map_err(RunDirError::io("read", path))?)
}

/// A line for each tensor of a file, from its header alone.
pub fn describe(path: &Path) -> Result<Vec<String>, RunDirError> {
    let mut file = fs::File::open(path).map_err(RunDirError::io("open", path))?;
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(RunDirError::io("read", path))?;
    let mut header = Vec::new();
    let taken = file.take(u64::from_le_bytes(length)).read_to_end(&mut header);
    taken.map_err(RunDirError::io("read", path))?;
    let header: Map<String, Json> = json_file::parse(path, &header)?;
    let ranges = header.get(METADATA).and_then(Json::as_object);
    let part = |name: &str| range_of(ranges?.get(name)?.as_str()?);
    let line = |(name, entry): (&String, &Json)| {
        let dtype = entry["dtype"].as_str().unwrap_or_default();
        match part(name) {
            Some(FlatRange { shape, range }) => {
                format!("{name:<40} {dtype:<5} {}..{} of {}", range.start, range.end, json!(shape))
            }
            None => format!("{name:<40} {dtype:<5} {}", entry["shape"]),
        }
    };
    Ok(header.iter().filter(|(name, _)| *name != METADATA).map(line).collect())
}

/// The tensors of a file's bytes, in the order of the names; `path` is for the message.
pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Vec<(String, Tensor)>, RunDirError> {
    let file =
        SafeTensors::deserialize(bytes).map_err(|e| RunDirError::damaged(path, e.to_string()))?;
    let mut tensors = Vec::with_capacity(file.len());
    for (name, view) in file.tensors() {
        let wrong = |why| RunDirError::Tensor { doing: "read", name: name.clone(), why };
        let found = KINDS.iter().find(|(dtype, ..)| *dtype == view.dtype());
        let (_, kind, _) =
            found.ok_or_else(|| wrong(format!("type {:?} is not supported", view.dtype())))?;
        let shape: Vec<i64> =
            view.shape().iter().map(|&s| i64::try_from(s).unwrap_or(i64::MAX)).collect();
        let tensor = Tensor::f_from_data_size(view.data(), &shape, *kind)
            .map_err(|e| wrong(e.to_string()))?;
        tensors.push((name, tensor));
    }
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        let transposed = Tensor::arange(6, (Kind::Float, tch::Device::Cpu)).view([2, 3]).tr();
        let tensors = [
            ("b".to_owned(), transposed.shallow_clone()),
            ("a".to_owned(), Tensor::from_slice(&[1_i64, -2])),
            ("empty".to_owned(), Tensor::zeros([0, 4], (Kind::Double, tch::Device::Cpu))),
        ];
        write(&path, &tensors).unwrap();
        let back = read(&path).unwrap();
        let names: Vec<_> = back.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "empty"]);
        assert_eq!(back[1].1, transposed);
        assert_eq!(back[2].1.size(), [0, 4]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn what_no_file_can_have_is_reported_and_a_negated_view_is_kept_as_it_reads() {
        let dense = Tensor::from_slice(&[1.0_f32, -2.0]);
        assert_eq!(storable(&dense).unwrap(), dense);
        let sparse = storable(&dense.to_sparse(None, None::<i64>, None::<i64>));
        let complex = storable(&Tensor::zeros([2], (Kind::ComplexFloat, tch::Device::Cpu)));
        let eighth = storable(&dense.to_kind(Kind::Float8e5m2));
        for refused in [sparse, complex, eighth] {
            assert!(!refused.unwrap_err().is_empty());
        }
        let pair = Tensor::view_as_complex(&Tensor::from_slice(&[1.0_f32, 2.0]));
        let negated = pair.conj().imag();
        assert!(negated.is_neg());
        assert_eq!(bytes_of(&storable(&negated).unwrap()).unwrap(), (-2.0_f32).to_le_bytes());
    }

    #[test]
    fn running_out_of_memory_for_a_copy_is_reported() {
        let wide = Tensor::from_slice(&[1.0_f32]).expand([1_i64 << 58], true);
        let error = lay_out(&[TensorShard::whole("wide", wide)], &mut Vec::new()).unwrap_err();
        assert!(matches!(error, RunDirError::NoMemory { bytes } if bytes > 1 << 60), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_short_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        write(&path, &[("a".to_owned(), Tensor::from_slice(&[1.0_f32; 100]))]).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(read(&path), Err(RunDirError::Damaged { .. })));
    }
}
