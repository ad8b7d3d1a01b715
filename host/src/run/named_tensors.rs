//! The tensors at a path, by name.

use super::{RunDirError, checkpoint, safetensors_file, safetensors_shards};
use std::path::Path;
use tch::Tensor;

/// The tensors of a file, of all files of an index, or of the model in a checkpoint.
///
/// # Errors
/// The path does not exist or cannot be read.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, RunDirError> {
    match path {
        _ if path.is_dir() || checkpoint::named_in(path).is_some() => {
            checkpoint::open(path)?.1.model.all()
        }
        _ if safetensors_shards::is_index(path) => safetensors_shards::read(path),
        _ => safetensors_file::read(path),
    }
}
