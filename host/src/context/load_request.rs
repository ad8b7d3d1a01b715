//! A checkpoint that a hook asks for.

use crate::run::checkpoint::Wanted;
use std::path::PathBuf;

/// A checkpoint that a hook wants loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    /// A checkpoint or a run directory; empty for the run's own.
    pub path: PathBuf,
    /// Which of the run's; the newest of them is loaded.
    pub wanted: Wanted,
    /// The model alone.
    pub weights_only: bool,
    /// Every tensor must fit.
    pub strict: bool,
}
