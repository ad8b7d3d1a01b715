//! Checkpoints: a directory that is there whole or not at all, with a manifest that says what belongs to it.

use super::error::RunDirError;
use super::json_value::{from_json, to_json};
use super::{atomic, safetensors_file};
use crate::plugins::HookState;
use hookrack_plugin_api::abi::HrProgress;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tch::Tensor;

const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const HOOKS: &str = "hooks.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "MANIFEST.json";

/// Everything that a checkpoint keeps.
#[derive(Debug, Default)]
pub struct Checkpoint {
    /// Parameters and buffers.
    pub model: Vec<(String, Tensor)>,
    /// The optimizer's tensors.
    pub optimizer: Vec<(String, Tensor)>,
    /// The hooks' states by instance name.
    pub hooks: BTreeMap<String, HookState>,
    /// How far the run was.
    pub position: Position,
}

/// How far a run was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Epochs begun.
    pub epoch: u64,
    /// Iterations done.
    pub iter: u64,
    /// Iterations done in the epoch.
    pub inner_iter: u64,
    /// Training samples consumed.
    pub samples: u64,
    /// Steps of the learning rate schedule.
    pub lr_position: u64,
}

impl Position {
    /// The position of a run in progress.
    pub fn of(progress: &HrProgress, lr_position: u64) -> Self {
        let HrProgress { epoch, iter, inner_iter, samples, .. } = *progress;
        Self { epoch, iter, inner_iter, samples, lr_position }
    }

    fn to_json(self) -> Json {
        let Self { epoch, iter, inner_iter, samples, lr_position } = self;
        json!({ "epoch": epoch, "iter": iter, "inner_iter": inner_iter, "samples": samples, "lr_position": lr_position })
    }

    fn from_json(json: &Json) -> Option<Self> {
        let number = |key| json.get(key)?.as_u64();
        Some(Self {
            epoch: number("epoch")?,
            iter: number("iter")?,
            inner_iter: number("inner_iter")?,
            samples: number("samples")?,
            lr_position: number("lr_position")?,
        })
    }
}

/// Writes a checkpoint below `folder` and points `latest` at it. What was there before stays until it is whole.
pub fn write(folder: &Path, checkpoint: &Checkpoint) -> Result<PathBuf, RunDirError> {
    let name = format!("iter_{:07}", checkpoint.position.iter);
    let path = folder.join(&name);
    let temporary = atomic::temporary_beside(&path);
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(RunDirError::io("remove", &temporary))?;
    }
    fs::create_dir_all(&temporary).map_err(RunDirError::io("create", &temporary))?;
    let written = fill(&temporary, checkpoint).and_then(|()| replace(&temporary, &path));
    if written.is_err() {
        // The first error is the one to tell; what is left of this try is of no use to anybody.
        let _ = fs::remove_dir_all(&temporary);
    }
    written?;
    atomic::write(&folder.join("latest"), format!("{name}\n").as_bytes())?;
    Ok(path)
}

fn fill(folder: &Path, checkpoint: &Checkpoint) -> Result<(), RunDirError> {
    let hook_tensors: Vec<_> = checkpoint
        .hooks
        .iter()
        .flat_map(|(hook, state)| {
            state
                .tensors
                .iter()
                .map(move |(key, tensor)| (format!("{hook}/{key}"), tensor.shallow_clone()))
        })
        .collect();
    let state = serde_json::to_vec_pretty(&state_json(checkpoint)).unwrap_or_default();
    let files = [
        (MODEL, safetensors_file::to_bytes(&checkpoint.model)?),
        (OPTIMIZER, safetensors_file::to_bytes(&checkpoint.optimizer)?),
        (HOOKS, safetensors_file::to_bytes(&hook_tensors)?),
        (STATE, state),
    ];
    let mut listed = Map::new();
    for (name, bytes) in &files {
        atomic::write(&folder.join(name), bytes)?;
        listed.insert((*name).to_owned(), json!({ "bytes": bytes.len(), "sha256": sha256(bytes) }));
    }
    let manifest = json!({ "format": 1, "files": listed });
    atomic::write(&folder.join(MANIFEST), manifest.to_string().as_bytes())
}

/// Puts a finished folder in place of one of the same iteration, which goes only once the new one is there.
fn replace(temporary: &Path, path: &Path) -> Result<(), RunDirError> {
    if !path.exists() {
        return atomic::rename(temporary, path);
    }
    let old = path.with_extension("old");
    atomic::rename(path, &old)?;
    atomic::rename(temporary, path)?;
    fs::remove_dir_all(&old).map_err(RunDirError::io("remove", &old))
}

fn state_json(checkpoint: &Checkpoint) -> Json {
    let values = |state: &HookState| -> Map<String, Json> {
        state.values.iter().map(|(key, value)| (key.clone(), to_json(value))).collect()
    };
    let hooks: Map<_, _> =
        checkpoint.hooks.iter().map(|(hook, state)| (hook.clone(), values(state).into())).collect();
    json!({ "position": checkpoint.position.to_json(), "hooks": hooks })
}

fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads a checkpoint; only one whose every file is as its manifest says.
pub fn read(path: &Path) -> Result<Checkpoint, RunDirError> {
    verify(path)?;
    let mut checkpoint = Checkpoint {
        model: safetensors_file::read(&path.join(MODEL))?,
        optimizer: safetensors_file::read(&path.join(OPTIMIZER))?,
        ..Checkpoint::default()
    };
    let state = read_json(&path.join(STATE))?;
    let position = state.get("position").and_then(Position::from_json);
    checkpoint.position =
        position.ok_or_else(|| RunDirError::damaged(&path.join(STATE), "it has no position"))?;
    let hooks = state.get("hooks").and_then(Json::as_object);
    for (hook, values) in hooks.into_iter().flatten() {
        let state = checkpoint.hooks.entry(hook.clone()).or_default();
        let values = values.as_object().into_iter().flatten();
        state
            .values
            .extend(values.filter_map(|(key, value)| Some((key.clone(), from_json(value)?))));
    }
    for (name, tensor) in safetensors_file::read(&path.join(HOOKS))? {
        if let Some((hook, key)) = name.split_once('/') {
            checkpoint
                .hooks
                .entry(hook.to_owned())
                .or_default()
                .tensors
                .insert(key.to_owned(), tensor);
        }
    }
    Ok(checkpoint)
}

/// The checkpoint that `path` means: itself, the run's latest, or the folder's latest.
pub fn find(path: &Path) -> Result<PathBuf, RunDirError> {
    for folder in [path.join("checkpoints"), path.to_owned()] {
        let latest = folder.join("latest");
        if latest.is_file() {
            let name = fs::read_to_string(&latest).map_err(RunDirError::io("read", &latest))?;
            return Ok(folder.join(name.trim()));
        }
    }
    if path.join(MANIFEST).is_file() {
        return Ok(path.to_owned());
    }
    Err(RunDirError::NoCheckpoint { path: path.to_owned() })
}

fn read_json(path: &Path) -> Result<Json, RunDirError> {
    let bytes = fs::read(path).map_err(RunDirError::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|e| RunDirError::damaged(path, e.to_string()))
}

fn verify(path: &Path) -> Result<(), RunDirError> {
    let manifest_path = path.join(MANIFEST);
    let manifest = read_json(&manifest_path)?;
    let files = manifest.get("files").and_then(Json::as_object);
    let files = files.ok_or_else(|| RunDirError::damaged(&manifest_path, "it lists no files"))?;
    for name in [MODEL, OPTIMIZER, HOOKS, STATE] {
        let file = path.join(name);
        let bytes = fs::read(&file).map_err(RunDirError::io("read", &file))?;
        let expected = files.get(name).and_then(|entry| entry.get("sha256")?.as_str());
        if expected != Some(sha256(&bytes).as_str()) {
            return Err(RunDirError::damaged(
                &file,
                "its checksum is not the one in MANIFEST.json",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(iter: u64) -> Checkpoint {
        let mut ema = HookState::default();
        ema.values.insert("updates".into(), 7i64.into());
        ema.tensors.insert("shadow.0".into(), Tensor::from_slice(&[1.5_f32]));
        Checkpoint {
            model: vec![("w".into(), Tensor::from_slice(&[1.0_f32, 2.0]))],
            optimizer: vec![("w.exp_avg".into(), Tensor::from_slice(&[0.5_f32, 0.5]))],
            hooks: BTreeMap::from([("EMAIterHook".to_owned(), ema)]),
            position: Position { epoch: 2, iter, inner_iter: 3, samples: 640, lr_position: iter },
        }
    }

    #[test]
    fn a_checkpoint_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &checkpoint(5)).unwrap();
        let path = write(folder.path(), &checkpoint(10)).unwrap();
        assert_eq!(find(folder.path()).unwrap(), path);
        let back = read(&path).unwrap();
        assert_eq!(back.position, checkpoint(10).position);
        assert_eq!(back.model[0].1, checkpoint(10).model[0].1);
        let ema = &back.hooks["EMAIterHook"];
        assert_eq!(ema.values["updates"], 7i64.into());
        assert_eq!(
            ema.tensors["shadow.0"],
            checkpoint(10).hooks["EMAIterHook"].tensors["shadow.0"]
        );
    }

    #[test]
    fn a_checkpoint_of_the_same_iteration_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &Checkpoint { model: Vec::new(), ..checkpoint(5) }).unwrap();
        let path = write(folder.path(), &checkpoint(5)).unwrap();
        assert_eq!(read(&path).unwrap().model.len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the checkpoint and `latest`");
    }

    #[test]
    fn a_changed_byte_in_any_file_is_found() {
        for name in [MODEL, OPTIMIZER, HOOKS, STATE] {
            let folder = tempfile::tempdir().unwrap();
            let path = write(folder.path(), &checkpoint(5)).unwrap();
            let mut bytes = fs::read(path.join(name)).unwrap();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(path.join(name), bytes).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
