//! Writes tensors as a `.pt` file for `torch.load`: a zip archive with a pickled dict of names and tensors.

use super::error::RunDirError;
use super::{atomic, safetensors_file};
use std::io::{Cursor, Write as _};
use std::path::Path;
use tch::{Kind, Tensor};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const STORAGES: [(Kind, &str); 10] = [
    (Kind::Float, "FloatStorage"),
    (Kind::Double, "DoubleStorage"),
    (Kind::Half, "HalfStorage"),
    (Kind::BFloat16, "BFloat16Storage"),
    (Kind::Int64, "LongStorage"),
    (Kind::Int, "IntStorage"),
    (Kind::Int16, "ShortStorage"),
    (Kind::Int8, "CharStorage"),
    (Kind::Uint8, "ByteStorage"),
    (Kind::Bool, "BoolStorage"),
];

/// Writes named tensors atomically.
///
/// # Errors
/// A tensor cannot be stored in such a file, or the file could not be written.
pub fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), RunDirError> {
    let mut pickle = Pickle::begin();
    let mut storages = Vec::with_capacity(tensors.len());
    for (index, (name, tensor)) in tensors.iter().enumerate() {
        let wrong = |why: String| RunDirError::Tensor { doing: "save", name: name.clone(), why };
        let kind = tensor.f_kind().map_err(|e| wrong(e.to_string()))?;
        let found = STORAGES.iter().find(|(known, _)| *known == kind);
        let (_, storage) = found.ok_or_else(|| wrong(format!("`.pt` has no type for {kind:?}")))?;
        pickle.tensor(name, storage, index, &tensor.size());
        storages.push(safetensors_file::bytes_of(tensor).map_err(wrong)?);
    }
    let archive = zip(&pickle.end(), &storages).map_err(|why| RunDirError::Io {
        doing: "make",
        path: path.to_owned(),
        why: std::io::Error::other(why),
    })?;
    atomic::write(path, &archive)
}

fn zip(pickle: &[u8], storages: &[Vec<u8>]) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut put = |name: &str, bytes: &[u8]| {
        let large = u32::try_from(bytes.len()).is_err();
        let stored = CompressionMethod::Stored;
        // PyTorch aligns each tensor to 64 bytes.
        let options = SimpleFileOptions::default()
            .compression_method(stored)
            .large_file(large)
            .with_alignment(64);
        archive.start_file(format!("archive/{name}"), options)?;
        archive.write_all(bytes).map_err(zip::result::ZipError::from)
    };
    put("data.pkl", pickle)?;
    put("byteorder", b"little")?;
    for (index, bytes) in storages.iter().enumerate() {
        put(&format!("data/{index}"), bytes)?;
    }
    put("version", b"3\n")?;
    Ok(archive.finish()?.into_inner())
}

/// The opcodes of Python's pickle protocol 2 that a dict of tensors needs.
struct Pickle(Vec<u8>);

impl Pickle {
    fn begin() -> Self {
        // Protocol 2, an empty dict, a mark before its items.
        Self(b"\x80\x02}(".to_vec())
    }

    fn end(mut self) -> Vec<u8> {
        self.0.extend(b"u.");
        self.0
    }

    fn global(&mut self, module: &str, name: &str) {
        self.0.extend(format!("c{module}\n{name}\n").as_bytes());
    }

    fn text(&mut self, text: &str) {
        self.0.push(b'X');
        self.0.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.extend(text.as_bytes());
    }

    fn number(&mut self, number: i64) {
        // A long of eight bytes.
        self.0.extend([0x8a, 8]);
        self.0.extend(number.to_le_bytes());
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = i64>) {
        self.0.push(b'(');
        numbers.into_iter().for_each(|number| self.number(number));
        self.0.push(b't');
    }

    /// `name: torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict())`
    fn tensor(&mut self, name: &str, storage: &str, index: usize, size: &[i64]) {
        self.text(name);
        self.global("torch._utils", "_rebuild_tensor_v2");
        self.0.extend(b"((");
        self.text("storage");
        self.global("torch", storage);
        self.text(&index.to_string());
        self.text("cpu");
        self.number(size.iter().product());
        self.0.extend(b"tQ");
        self.number(0);
        self.numbers(size.iter().copied());
        self.numbers(strides(size));
        // False, and an empty OrderedDict.
        self.0.push(0x89);
        self.global("collections", "OrderedDict");
        self.0.extend(b")RtR");
    }
}

/// The strides of a contiguous tensor.
fn strides(size: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; size.len()];
    for index in (1..size.len()).rev() {
        strides[index - 1] = strides[index] * size[index].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_those_of_a_row() {
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(strides(&[]), Vec::<i64>::new());
        assert_eq!(strides(&[0, 5]), [5, 1]);
    }
}
