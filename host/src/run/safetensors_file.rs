//! Tensors in a safetensors file, and back.

use super::atomic;
use super::error::RunDirError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::fs;
use std::path::Path;
use tch::{Kind, Tensor};

const KINDS: [(Dtype, Kind); 10] = [
    (Dtype::F32, Kind::Float),
    (Dtype::F64, Kind::Double),
    (Dtype::F16, Kind::Half),
    (Dtype::BF16, Kind::BFloat16),
    (Dtype::I64, Kind::Int64),
    (Dtype::I32, Kind::Int),
    (Dtype::I16, Kind::Int16),
    (Dtype::I8, Kind::Int8),
    (Dtype::U8, Kind::Uint8),
    (Dtype::BOOL, Kind::Bool),
];

/// A tensor's name, type, shape and bytes, on their way into a file.
struct Bytes {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

fn bytes_of(name: &str, tensor: &Tensor) -> Result<Bytes, String> {
    let tensor = tensor.f_detach().and_then(|t| t.f_contiguous()).map_err(|e| e.to_string())?;
    let kind = tensor.f_kind().map_err(|e| e.to_string())?;
    let found = KINDS.iter().find(|(_, k)| *k == kind);
    let (dtype, _) = found.ok_or_else(|| format!("safetensors has no type for {kind:?}"))?;
    let numel = tensor.numel();
    let mut bytes = vec![0; numel * kind.elt_size_in_bytes()];
    tensor.f_copy_data_u8(&mut bytes, numel).map_err(|e| e.to_string())?;
    let shape = tensor.size().into_iter().map(|size| usize::try_from(size).unwrap_or(0)).collect();
    Ok(Bytes { name: name.to_owned(), dtype: *dtype, shape, data: bytes })
}

/// Writes named tensors to a file, whole or not at all.
pub fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), RunDirError> {
    let bytes = to_bytes(tensors)?;
    atomic::write(path, &bytes)
}

/// Named tensors as the bytes of a file.
pub fn to_bytes(tensors: &[(String, Tensor)]) -> Result<Vec<u8>, RunDirError> {
    let wrong = |name: &str, why| RunDirError::Tensor { doing: "save", name: name.to_owned(), why };
    let mut laid = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        laid.push(bytes_of(name, tensor).map_err(|why| wrong(name, why))?);
    }
    let mut views = Vec::with_capacity(laid.len());
    for item in &laid {
        let view = TensorView::new(item.dtype, item.shape.clone(), &item.data);
        views.push((item.name.as_str(), view.map_err(|e| wrong(&item.name, e.to_string()))?));
    }
    safetensors::serialize(views, None).map_err(|e| wrong("all", e.to_string()))
}

/// Reads every tensor of a file, in the order of the names.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, RunDirError> {
    let bytes = fs::read(path).map_err(RunDirError::io("read", path))?;
    let file =
        SafeTensors::deserialize(&bytes).map_err(|e| RunDirError::damaged(path, e.to_string()))?;
    let mut tensors = Vec::with_capacity(file.len());
    for (name, view) in file.tensors() {
        let wrong = |why| RunDirError::Tensor { doing: "read", name: name.clone(), why };
        let found = KINDS.iter().find(|(dtype, _)| *dtype == view.dtype());
        let (_, kind) =
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
    fn a_file_that_is_cut_short_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        write(&path, &[("a".to_owned(), Tensor::from_slice(&[1.0_f32; 100]))]).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(read(&path), Err(RunDirError::Damaged { .. })));
    }
}
