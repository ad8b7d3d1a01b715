//! Which checkpoints are kept, and which one is loaded.

use super::Trainer;
use crate::error::Result;

/// Which of the checkpoints that a hook requested are kept. A checkpoint is deleted when no rule of any hook keeps it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// How many of the newest to keep; `None` for all.
    pub last: Option<u64>,
    /// Always keep those of every n-th epoch; 0 for none.
    pub every_epochs: u64,
    /// Always keep those of every n-th iteration; 0 for none.
    pub every_iters: u64,
    /// The scalar that decides which are best, such as `val/Accuracy`; empty for none.
    pub metric: &'a str,
    /// Whether a higher value of `metric` is better.
    pub higher_is_better: bool,
    /// How many of the best to keep.
    pub top: u64,
}

/// A checkpoint to load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load<'a> {
    /// A checkpoint or a run directory; empty for the run's own.
    pub path: &'a str,
    /// The epoch of the checkpoint; `None` for the newest.
    pub epoch: Option<u64>,
    /// Load only the model; otherwise everything, and the run continues from the checkpoint.
    pub weights_only: bool,
    /// Every tensor must match; otherwise those that match are loaded.
    pub strict: bool,
}

/// Checkpoints. [`request_checkpoint`](Self::request_checkpoint) requests one.
impl Trainer {
    /// Sets which checkpoints of this hook are kept, replacing its previous rule. The newest checkpoint of the run is always kept.
    ///
    /// Takes effect when the next checkpoint is complete. Call it in `before_train` or when a value changes; it does no work by itself.
    pub fn keep_checkpoints(&mut self, keep: &Keep<'_>) -> Result<()> {
        self.host.keep_checkpoints(keep)
    }

    /// Loads a checkpoint after the current point; call it at `before_train`. A later request replaces an earlier one.
    ///
    /// A missing or damaged checkpoint is reported when it is loaded, and ends the run.
    pub fn load_checkpoint(&mut self, load: &Load<'_>) -> Result<()> {
        self.host.load_checkpoint(load)
    }

    /// Gives the checkpoints of this hook a second name: a link next to them.
    ///
    /// `{iter}` and `{epoch}` are replaced by those of the checkpoint. A name without either is a single link to the best checkpoint by the rule of
    /// [`keep_checkpoints`](Self::keep_checkpoints), or else to the newest. An empty pattern adds no name.
    ///
    /// `folder/{iter}` also puts the checkpoints of the run into a folder, which is created if missing; `folder/` does only that. Call it in `before_run`; a host before 1.2 returns an error.
    ///
    /// # Errors
    /// The pattern is not a valid name, or is reserved; or the run has checkpoints in another folder.
    pub fn name_checkpoints(&mut self, pattern: &str) -> Result<()> {
        self.host.name_checkpoints(pattern)
    }

    /// As [`load_checkpoint`](Self::load_checkpoint), from the checkpoints whose second name ends in `suffix`.
    pub fn load_checkpoint_named(&mut self, load: &Load<'_>, suffix: &str) -> Result<()> {
        self.host.load_checkpoint_named(load, suffix)
    }
}
