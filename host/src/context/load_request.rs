//! A checkpoint that a hook requests.

use crate::run::checkpoint::CheckpointFilter;
use std::path::PathBuf;

/// A request to load a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    /// A checkpoint or a run directory; empty for the run's own.
    pub path: PathBuf,
    /// Which of the run's; the newest of them is loaded.
    pub wanted: CheckpointFilter,
    /// Load the model only.
    pub weights_only: bool,
    /// Every tensor must match.
    pub strict: bool,
}
