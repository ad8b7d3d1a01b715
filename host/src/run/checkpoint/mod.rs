//! Checkpoints: a directory that exists completely or not at all, with a manifest of its files.
//!
//! `contents` is what is saved, `snapshot` its copy in memory, `write` and `read` are for files, `find` decides
//! which one to resume from, `names` are second names, `folder` puts them elsewhere, `background` is the thread that writes. If several ranks write one,
//! each has a `portion` of it, and they put it in place `together`; `stored` reads tensors from any number of files.

mod apply_retention;
mod background;
mod contents;
mod find;
mod folder;
mod manifest;
mod names;
mod portion;
mod read;
mod retention;
mod snapshot;
mod stored;
mod together;
mod write;

pub use background::Background;
pub use contents::{Captured, Checkpoint, CheckpointState, EpochStage, Position, Provenance};
pub use find::{
    CheckpointFilter, Newest, choose, locate, named_in, newest_state, newest_valid, open,
};
pub use folder::keep_in;
pub use manifest::{Manifest, Summary, fingerprint};
pub use names::check as check_name;
pub use portion::{Contents, Portion};
pub use read::{read, read_state, read_verified};
pub use retention::{Actions, Best, Rule, decide};
pub use snapshot::{Buffers, Snapshot};
pub use stored::Stored;
pub use together::{Draft, Written};
pub use write::{point_latest_at, recover, write};

const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const HOOKS: &str = "hooks.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const RUN: &str = "run.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "MANIFEST.json";

/// The files of a checkpoint that one process wrote, beside its manifest.
pub const FILES: [&str; 5] = [MODEL, OPTIMIZER, HOOKS, RUN, STATE];

/// The name of an iteration's checkpoint.
pub fn name_of(iter: u64) -> String {
    format!("iter_{iter:07}")
}

/// The iteration of a checkpoint's name.
pub fn iter_of(name: &str) -> Option<u64> {
    name.strip_prefix("iter_")?.parse().ok()
}

#[cfg(test)]
mod tests;
