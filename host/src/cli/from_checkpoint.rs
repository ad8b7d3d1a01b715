//! `--checkpoint PATH`: for commands that only use a model.

use super::exit::Failure;
use crate::run::checkpoint;
use crate::train::Resume;
use clap::Args;
use std::path::PathBuf;

/// Which checkpoint, and how strictly it is loaded.
#[derive(Args)]
pub(super) struct FromCheckpoint {
    /// Checkpoint, or run directory (uses its newest checkpoint)
    #[arg(long, value_name = "PATH")]
    checkpoint: PathBuf,

    /// Continue even if a hook or metric rejects its saved state
    #[arg(long)]
    force: bool,
}

impl FromCheckpoint {
    /// Reads it.
    pub(super) fn open(&self) -> Result<Resume, Failure> {
        let (_, checkpoint) = checkpoint::open(&self.checkpoint)?;
        Ok(Resume { checkpoint, force: self.force, with_optimizer: false })
    }
}
