//! The tensors that a path means, by name.

use super::{RunDirError, checkpoint, safetensors_file, safetensors_shards};
use std::path::Path;
use tch::Tensor;

/// A file's tensors, those of all files of an index, or those of the model in the checkpoint that it leads to.
///
/// # Errors
/// Nothing is there, or it cannot be read.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, RunDirError> {
    match path {
        _ if path.is_dir() || checkpoint::named_in(path).is_some() => {
            checkpoint::open(path)?.1.model.all()
        }
        _ if safetensors_shards::is_index(path) => safetensors_shards::read(path),
        _ => safetensors_file::read(path),
    }
}
