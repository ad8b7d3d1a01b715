//! The outcome of an earlier run, from `run.json`.

use super::json_file;
use crate::engine::lr::Horizon;
use std::path::Path;

/// The outcome of a completed run.
pub const COMPLETED: &str = "completed";

/// How an earlier run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// Its outcome; `running` if it was killed.
    pub outcome: String,
    /// Iterations done.
    pub iter: u64,
    /// Epochs begun.
    pub epoch: u64,
}

impl PastRun {
    /// Reads the record of a run directory; `None` if it is missing or invalid.
    pub fn read(run: &Path) -> Option<Self> {
        let json = json_file::record(run)?;
        let count = |key: &str| json[key].as_u64().unwrap_or(0);
        let outcome = json["outcome"].as_str()?.to_owned();
        Some(Self { outcome, iter: count("iter"), epoch: count("epoch") })
    }

    /// Whether it is complete under the limits of the current config.
    pub fn is_complete(&self, limits: Horizon) -> bool {
        let is_long_enough = self.iter >= limits.iters || self.epoch >= limits.epochs;
        self.outcome == COMPLETED && is_long_enough
    }
}
