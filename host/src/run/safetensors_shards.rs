//! A model in several safetensors files with an index of which tensor is in which, as Hugging Face splits them.

use super::error::RunDirError;
use super::{json_file, safetensors_file};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tch::Tensor;

/// `model.safetensors.index.json`; other keys are ignored.
#[derive(Deserialize)]
struct Index {
    /// Tensor to file, in the index's own folder.
    weight_map: BTreeMap<String, String>,
}

/// Whether a file is an index, by its name.
pub fn is_index(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(".safetensors.index.json"))
}

/// Reads every tensor that the index names, from the files beside it.
///
/// # Errors
/// The index or a file cannot be read, or a file lacks a tensor of the index.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, RunDirError> {
    let Index { weight_map } = json_file::read(path)?;
    let files: BTreeSet<&str> = weight_map.values().map(String::as_str).collect();
    let mut tensors = Vec::with_capacity(weight_map.len());
    for file in files {
        if Path::new(file).file_name().is_none_or(|name| name != file) {
            let why = format!("it names `{file}`, which is not a file beside it");
            return Err(RunDirError::damaged(path, why));
        }
        let shard = safetensors_file::read(&path.with_file_name(file))?;
        let is_here = |name: &str| weight_map.get(name).is_some_and(|place| place == file);
        tensors.extend(shard.into_iter().filter(|(name, _)| is_here(name)));
    }
    let found: BTreeSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    if let Some((name, file)) = weight_map.iter().find(|(name, _)| !found.contains(name.as_str())) {
        return Err(RunDirError::damaged(path, format!("`{name}` is not in {file}")));
    }
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn shards(map: &serde_json::Value) -> (tempfile::TempDir, Result<Vec<String>, String>) {
        let folder = tempfile::tempdir().unwrap();
        for (file, names) in [("1.safetensors", &["a", "b"][..]), ("2.safetensors", &["c"])] {
            let tensors: Vec<_> =
                names.iter().map(|name| ((*name).to_owned(), Tensor::from(1.0))).collect();
            safetensors_file::write(&folder.path().join(file), &tensors).unwrap();
        }
        let index = folder.path().join("model.safetensors.index.json");
        let text = json!({ "metadata": { "total_size": 24 }, "weight_map": map });
        fs::write(&index, text.to_string()).unwrap();
        assert!(is_index(&index) && !is_index(&folder.path().join("1.safetensors")));
        let names = read(&index).map(|read| read.into_iter().map(|(name, _)| name).collect());
        (folder, names.map_err(|error| error.to_string()))
    }

    #[test]
    fn every_tensor_comes_from_the_file_that_the_index_names() {
        let map = json!({ "a": "1.safetensors", "c": "2.safetensors" });
        assert_eq!(shards(&map).1.unwrap(), ["a", "c"]);
    }

    #[test]
    fn an_index_that_promises_too_much_is_damaged() {
        let says = |map| shards(&map).1.unwrap_err();
        let moved = says(json!({ "a": "2.safetensors" }));
        assert!(moved.ends_with("is damaged: `a` is not in 2.safetensors"), "{moved}");
        let lost = says(json!({ "a": "3.safetensors" }));
        assert!(lost.contains("could not read") && lost.contains("3.safetensors"), "{lost}");
        let outside = says(json!({ "a": "../1.safetensors" }));
        assert!(outside.ends_with("it names `../1.safetensors`, which is not a file beside it"));
    }
}
