//! Reads a checkpoint; every file must match its manifest.

use super::manifest::Manifest;
use super::stored::{Mapped, Stored};
use super::{Checkpoint, CheckpointState, Contents, RUN, STATE, iter_of};
use crate::engine::SavedState;
use crate::events::Sample;
use crate::run::json_value::from_json;
use crate::run::{RunDirError, json_file, safetensors_file};
use crate::torch::rng::RngState;
use serde_json::Value as Json;
use std::path::Path;
use tch::Tensor;

/// Reads a checkpoint. Large tensors are verified now, and read when they are requested.
pub fn read(path: &Path) -> Result<Checkpoint, RunDirError> {
    read_with(path, Trust::Nothing)
}

/// Reads a checkpoint that another rank has verified; of large tensors only what is requested.
pub fn read_verified(path: &Path) -> Result<Checkpoint, RunDirError> {
    read_with(path, Trust::LargeFiles)
}

/// Which files are not verified against the manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Nothing,
    LargeFiles,
}

fn read_with(path: &Path, trust: Trust) -> Result<Checkpoint, RunDirError> {
    let manifest = Manifest::read(path)?;
    let large = |contents| stored(path, &manifest, contents, trust);
    let mut checkpoint = Checkpoint {
        model: large(Contents::Model)?,
        optimizer: large(Contents::Optimizer)?,
        hook_tensors: large(Contents::Hooks)?,
        ..Checkpoint::default()
    };
    let state = state(path, &manifest)?;
    for (hook, values) in state["hooks"].as_object().into_iter().flatten() {
        take_values(checkpoint.hooks.entry(hook.clone()).or_default(), values);
    }
    take_values(&mut checkpoint.engine, &state["engine"]);
    checkpoint.state = state_in(path, state)?;
    // A hook may have tensors and no values.
    for (hook, _) in checkpoint.hook_tensors.names().filter_map(|name| name.split_once('/')) {
        checkpoint.hooks.entry(hook.to_owned()).or_default();
    }
    let run = manifest.read_file(path, RUN)?;
    let tensors = safetensors_file::from_bytes(&path.join(RUN), &run)?;
    check_ranks(path, tensors.iter().map(|(name, _)| name.as_str()))?;
    for (name, tensor) in tensors {
        take_run_tensor(&mut checkpoint, &name, tensor)?;
    }
    check_name(path, &checkpoint)?;
    Ok(checkpoint)
}

/// The tensors of one kind, from all files of the manifest that contain them.
fn stored(
    path: &Path,
    manifest: &Manifest,
    contents: Contents,
    trust: Trust,
) -> Result<Stored, RunDirError> {
    let names: Vec<_> =
        manifest.files().map(|(name, _)| name).filter(|name| contents.is_in(name)).collect();
    if names.is_empty() {
        let path = path.join(contents.file());
        return Err(RunDirError::damaged(&path, "MANIFEST.json does not list it"));
    }
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        let file = Mapped::open(path.join(name))?;
        manifest.check_size(&path.join(name), name, file.bytes())?;
        if trust == Trust::Nothing {
            manifest.check_sum(&path.join(name), name, file.bytes())?;
            file.check()?;
        }
        files.push(file);
    }
    Stored::of(path, files)
}

/// Reads a checkpoint without its tensors.
///
/// # Errors
/// Its manifest or `state.json` is missing or damaged.
pub fn read_state(path: &Path) -> Result<CheckpointState, RunDirError> {
    state_in(path, state(path, &Manifest::read(path)?)?)
}

fn state(path: &Path, manifest: &Manifest) -> Result<Json, RunDirError> {
    json_file::parse(&path.join(STATE), &manifest.read_file(path, STATE)?)
}

fn state_in(path: &Path, state: Json) -> Result<CheckpointState, RunDirError> {
    serde_json::from_value(state)
        .map_err(|error| RunDirError::damaged(&path.join(STATE), error.to_string()))
}

fn take_values(state: &mut SavedState, values: &Json) {
    let values = values.as_object().into_iter().flatten();
    state.values.extend(values.filter_map(|(key, value)| Some((key.clone(), from_json(value)?))));
}

/// The rank and the kind of generator in the name of a tensor: `rng/rank_1/cpu`.
fn rank_in(name: &str) -> Option<(usize, &str)> {
    let (rank, kind) = name.strip_prefix("rng/rank_")?.split_once('/')?;
    Some((rank.parse().ok()?, kind))
}

/// An error if a file names a rank that is greater than the number of its ranks: room is made for all below it.
fn check_ranks<'a>(
    path: &Path,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), RunDirError> {
    let count = names.clone().filter_map(rank_in).count();
    match names.filter_map(rank_in).find(|(rank, _)| !(1..=count).contains(rank)) {
        Some((rank, _)) => {
            let why =
                format!("it has a random state of rank {rank}, but not of every rank before it");
            Err(RunDirError::damaged(&path.join(RUN), why))
        }
        None => Ok(()),
    }
}

fn take_run_tensor(to: &mut Checkpoint, name: &str, tensor: Tensor) -> Result<(), RunDirError> {
    let wrong = |e: tch::TchError| RunDirError::tensor("read", name, &e);
    match name.split_once('/') {
        Some(("rng", "cpu")) => to.rng.cpu = Vec::try_from(tensor).map_err(wrong)?,
        Some(("rng", "cuda")) => to.rng.cuda = Some(Vec::try_from(tensor).map_err(wrong)?),
        Some(("rng", _)) => {
            let Some((rank, kind)) = rank_in(name) else { return Ok(()) };
            let bytes = Vec::try_from(tensor).map_err(wrong)?;
            let index = rank.saturating_sub(1);
            if to.rank_rng.len() <= index {
                to.rank_rng.resize(index + 1, RngState::default());
            }
            match kind {
                "cpu" => to.rank_rng[index].cpu = bytes,
                _ => to.rank_rng[index].cuda = Some(bytes),
            }
        }
        Some(("engine", key)) => {
            to.engine.tensors.insert(key.to_owned(), tensor);
        }
        Some(("events", series)) => {
            if let Some(saved) = to.state.events.iter_mut().find(|saved| saved.name == series) {
                let numbers = tensor.f_view([-1]).and_then(Vec::<f64>::try_from).map_err(wrong)?;
                saved.values = numbers.chunks_exact(3).map(sample).collect();
            }
        }
        _ => {}
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they were counters")]
fn sample(row: &[f64]) -> Sample {
    Sample { iter: row[0] as u64, samples: row[1] as u64, value: row[2] }
}

/// Rejects a checkpoint whose folder has the name of another iteration.
fn check_name(path: &Path, checkpoint: &Checkpoint) -> Result<(), RunDirError> {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(iter_of);
    let iter = checkpoint.state.position.iter;
    match name {
        Some(named) if named != iter => {
            Err(RunDirError::damaged(path, format!("it is the checkpoint of iteration {iter}")))
        }
        _ => Ok(()),
    }
}
