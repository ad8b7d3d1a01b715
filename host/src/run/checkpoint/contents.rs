//! The contents of a checkpoint.

use super::Stored;
use crate::engine::SavedState;
use crate::events::SavedMetric;
use crate::events::SavedSeries;
use crate::progress::Progress;
use crate::run::RunDirError;
use crate::run::data_files::DataFiles;
use crate::torch::rng::RngState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Everything in a checkpoint. Large tensors stay on disk until they are requested.
#[derive(Debug, Default)]
pub struct Checkpoint<T = Stored> {
    /// Parameters and buffers.
    pub model: T,
    /// The optimizer's tensors.
    pub optimizer: T,
    /// The engine's other state.
    pub engine: SavedState,
    /// The states of hooks and metrics by instance name. Those that were read have no tensors: they are in `hook_tensors`.
    pub hooks: BTreeMap<String, SavedState>,
    /// The tensors of these states, named `HOOK/KEY`.
    pub hook_tensors: T,
    /// The state of libtorch's random number generator; on several ranks, that of rank 0.
    pub rng: RngState,
    /// The states of the other ranks, from rank 1 on.
    pub rank_rng: Vec<RngState>,
    /// Everything that is not a tensor.
    pub state: CheckpointState,
}

impl Checkpoint {
    /// The state of a hook that was read, with those of its tensors whose keys are wanted; `None` if it has none.
    ///
    /// # Errors
    /// The file of the tensors can no longer be read.
    pub fn hook_state(
        &self,
        hook: &str,
        wants: impl Fn(&str) -> bool,
    ) -> Result<Option<SavedState>, RunDirError> {
        let Some(state) = self.hooks.get(hook) else { return Ok(None) };
        let mut state = SavedState { values: state.values.clone(), ..SavedState::default() };
        for name in self.hook_tensors.names() {
            if let Some((_, key)) =
                name.split_once('/').filter(|(of, key)| *of == hook && wants(key))
            {
                state.tensors.insert(key.to_owned(), self.hook_tensors.tensor(name)?);
            }
        }
        Ok(Some(state))
    }

    /// The states of all hooks that were read, with all their tensors.
    pub fn hook_states(&self) -> Result<BTreeMap<String, SavedState>, RunDirError> {
        let state = |hook: &String| {
            Ok((hook.clone(), self.hook_state(hook, |_| true)?.unwrap_or_default()))
        };
        self.hooks.keys().map(state).collect()
    }
}

/// The part of a checkpoint to write that belongs to the whole run, without its large tensors: those are
/// [`Portion`](super::Portion)s.
pub type Captured = Checkpoint<()>;

/// The human-readable part of a checkpoint: `state.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheckpointState {
    /// The position of the run.
    pub position: Position,
    /// The hooks that requested a checkpoint after a validation that was cut short.
    pub savers: Vec<String>,
    /// The hooks and metrics whose state could not be saved.
    #[serde(default)]
    pub without: Vec<String>,
    /// The latest and best value of each metric.
    pub metrics: Vec<SavedMetric>,
    /// The scalars; their values are among the tensors.
    pub events: Vec<SavedSeries>,
    /// Values shared between hooks.
    pub shared: Map<String, Json>,
    /// The mark of each writer.
    pub writers: Map<String, Json>,
    /// What created it.
    pub provenance: Provenance,
}

/// The position of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Epochs begun.
    pub epoch: u64,
    /// Iterations done.
    pub iter: u64,
    /// Iterations done in the epoch.
    pub inner_iter: u64,
    /// Batches of the training data drawn in the epoch; in older checkpoints, one for each iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<u64>,
    /// Training samples consumed.
    pub samples: u64,
    /// Steps of the learning rate schedule.
    pub lr_position: u64,
    /// How much of the epoch in progress is done.
    pub stage: EpochStage,
    /// A validation was requested and has not finished.
    pub validate: bool,
}

/// How much of an epoch is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpochStage {
    /// Nothing yet.
    Begun,
    /// Some or all of its iterations.
    #[default]
    Iterations,
    /// Its closing points too.
    Closed,
    /// All of it, validation included.
    Done,
}

impl Position {
    /// The position of a run in progress.
    pub fn of(progress: &Progress, lr_position: u64, stage: EpochStage) -> Self {
        let Progress { epoch, iter, inner_iter, samples, .. } = *progress;
        Self { epoch, iter, inner_iter, samples, lr_position, stage, ..Self::default() }
    }
}

/// What created a checkpoint: program, machine, config, plugins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// The host's version.
    pub hookrack: String,
    /// libtorch's.
    pub libtorch: String,
    /// Threads for arithmetic.
    pub threads: u64,
    /// This process among `world`.
    pub rank: u32,
    /// The number of processes that train together.
    pub world: u32,
    /// The resolved config, as TOML.
    pub config: String,
    /// The data files.
    #[serde(default)]
    pub data: DataFiles,
    /// The number of training samples; older checkpoints do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The libraries in use: path, sha256, name, version.
    pub libraries: Vec<Json>,
    /// Every hook and metric: name, type, library, level, parameters.
    pub members: Vec<Json>,
}
