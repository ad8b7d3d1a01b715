//! Readers of run directories: checkpoints, weights, and the files that a report is made from.
//!
//! A checkpoint has checksums, which no damaged file would pass: the manifest is rewritten for every input, so that what is behind them is tested.

use super::{Folder, Prepared, Reader, bytes, own_seed};
use hookrack::report;
use hookrack::run::{PastRun, RunDirError, checkpoint, safetensors_file, safetensors_shards};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub(crate) const READERS: &[Reader] = &[
    Reader { name: "checkpoint-hooks", make: |it| part(it, "hooks.safetensors", &[ranges()]) },
    Reader { name: "checkpoint-manifest", make: manifest },
    Reader { name: "checkpoint-model", make: |it| part(it, "model.safetensors", &[ranges()]) },
    Reader { name: "checkpoint-run", make: |it| part(it, "run.safetensors", &[ranks()]) },
    Reader { name: "checkpoint-state", make: |it| part(it, "state.json", &[]) },
    Reader { name: "curves", make: curves },
    Reader { name: "metrics", make: |it| record(it, "metrics.json") },
    Reader { name: "run-record", make: |it| record(it, "run.json") },
    Reader { name: "shards", make: shards },
    Reader { name: "weights", make: weights },
];

const CHECKPOINT: &str = "iter_0000004";
const MANIFEST: &str = "MANIFEST.json";

fn own_checkpoint() -> std::path::PathBuf {
    own_seed("run/checkpoints").join(CHECKPOINT)
}

/// Reads a checkpoint and every tensor of it, with and without checksums.
fn read_all(path: &Path) -> Result<(), String> {
    let text = |error: RunDirError| error.to_string();
    drop(checkpoint::read_state(path));
    for read in [checkpoint::read_verified, checkpoint::read] {
        let found = read(path).map_err(text)?;
        for stored in [&found.model, &found.optimizer, &found.hook_tensors] {
            stored.all().map_err(text)?;
        }
    }
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A manifest with its own checksum, as the host writes it.
fn sealed(mut manifest: Json) -> Vec<u8> {
    let pretty = |manifest: &Json| [serde_json::to_vec_pretty(manifest).unwrap(), b"\n".to_vec()];
    manifest["sha256"] = "".into();
    manifest["sha256"] = sha256(&pretty(&manifest).concat()).into();
    pretty(&manifest).concat()
}

fn safetensors(header: &Json, data: usize) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
}

/// A range of a tensor, as ranks write them.
fn ranges() -> Vec<u8> {
    let range = json!({ "shape": [2, 2], "range": [0, 4] }).to_string();
    let tensor = json!({ "dtype": "F32", "shape": [4], "data_offsets": [0, 16] });
    safetensors(&json!({ "__metadata__": { "w": range }, "w": tensor }), 16)
}

/// What a run on two ranks saves beside the model.
fn ranks() -> Vec<u8> {
    let state = |at: usize| json!({ "dtype": "U8", "shape": [8], "data_offsets": [at, at + 8] });
    let event = json!({ "dtype": "F64", "shape": [1, 3], "data_offsets": [24, 48] });
    let header = json!({
        "rng/cpu": state(0), "rng/rank_1/cpu": state(8), "engine/scale": state(16),
        "events/train/loss": event,
    });
    safetensors(&header, 48)
}

/// A file of a checkpoint, under a manifest that lists it as it is.
fn part(folder: Folder, name: &'static str, more: &[Vec<u8>]) -> Prepared {
    let path = folder.copy(&own_checkpoint(), CHECKPOINT);
    let seeds = [bytes([path.join(name)]), more.to_vec()].concat();
    let good: Json = serde_json::from_slice(&fs::read(path.join(MANIFEST)).unwrap()).unwrap();
    let read = move |input: &[u8]| {
        let _ = &folder;
        let mut manifest = good.clone();
        manifest["files"][name] = json!({ "bytes": input.len(), "sha256": sha256(input) });
        fs::write(path.join(MANIFEST), sealed(manifest)).unwrap();
        fs::write(path.join(name), input).unwrap();
        read_all(&path)
    };
    Prepared { seeds, read: Box::new(read) }
}

/// The manifest, as it is and with the checksum that it needs.
fn manifest(folder: Folder) -> Prepared {
    let path = folder.copy(&own_checkpoint(), CHECKPOINT);
    let seeds = bytes([path.join(MANIFEST)]);
    let read = move |input: &[u8]| {
        let _ = &folder;
        fs::write(path.join(MANIFEST), input).unwrap();
        let as_is = read_all(&path);
        match serde_json::from_slice::<Json>(input) {
            Ok(manifest) if manifest.is_object() => {
                fs::write(path.join(MANIFEST), sealed(manifest)).unwrap();
                as_is.or(read_all(&path))
            }
            _ => as_is,
        }
    };
    Prepared { seeds, read: Box::new(read) }
}

fn weights(folder: Folder) -> Prepared {
    let read = move |input: &[u8]| {
        let file = folder.input(input);
        drop(safetensors_file::describe(&file));
        safetensors_file::read(&file).map(drop).map_err(|error| error.to_string())
    };
    let seeds = bytes([own_checkpoint().join("model.safetensors")]);
    Prepared { seeds, read: Box::new(read) }
}

fn shards(folder: Folder) -> Prepared {
    let model = own_checkpoint().join("model.safetensors");
    folder.write("model.safetensors", &fs::read(&model).unwrap());
    let tensors = safetensors_file::read(&model).unwrap();
    let map: serde_json::Map<_, _> =
        tensors.into_iter().map(|(name, _)| (name, "model.safetensors".into())).collect();
    let seed = serde_json::to_vec(&json!({ "metadata": {}, "weight_map": map })).unwrap();
    let read = move |input: &[u8]| {
        let index = folder.write("model.safetensors.index.json", input);
        safetensors_shards::read(&index).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds: vec![seed], read: Box::new(read) }
}

/// A file of the run directory that a report is made from.
fn record(folder: Folder, name: &'static str) -> Prepared {
    let path = folder.copy(&own_seed("run"), "run");
    let seeds = bytes([path.join(name)]);
    let read = move |input: &[u8]| {
        let _ = &folder;
        fs::write(path.join(name), input).unwrap();
        drop(PastRun::read(&path));
        report::html(&path).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds, read: Box::new(read) }
}

fn curves(folder: Folder) -> Prepared {
    let path = folder.copy(&own_seed("run"), "run");
    fs::create_dir_all(path.join("curves")).unwrap();
    let curve = json!({ "name": "1", "points": [[0.0, 0.0], [0.25, 0.75], [1.0, 1.0]] });
    let seed = json!({
        "title": "ROC", "iter": 4, "x": "false positives", "y": "true positives",
        "diagonal": true, "left_out": 2, "curves": [curve],
    });
    let read = move |input: &[u8]| {
        let _ = &folder;
        fs::write(path.join("curves/roc.json"), input).unwrap();
        report::html(&path).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds: vec![serde_json::to_vec(&seed).unwrap()], read: Box::new(read) }
}
