//! Which checkpoints are kept, and which one is loaded.

use super::Trainer;
use crate::error::Result;

/// Which of the checkpoints that a hook requested are kept. A checkpoint is deleted when no rule of any hook
/// keeps it.
///
/// The newest checkpoint of the run, the best one by the first rule with a [`metric`](Keep::metric), and
/// those requested by a hook without a rule, such as one that was removed from the config, are never deleted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// How many of the newest to keep; `None` for all. The other fields only matter with a number, except
    /// that `metric` also decides which checkpoint is called `best`.
    pub last: Option<u64>,
    /// Always keep those of every n-th epoch; 0 for none.
    pub every_epochs: u64,
    /// Always keep those of every n-th iteration; 0 for none.
    pub every_iters: u64,
    /// The scalar that decides which are best, such as `val/Accuracy`; empty for none.
    ///
    /// The full name of a metric's value over a pass, or of a scalar of validation without smoothing, such as
    /// `val/loss`. A checkpoint without a finite value is never best; among equal values the older checkpoint
    /// is.
    pub metric: &'a str,
    /// Whether a higher value of `metric` is better.
    pub higher_is_better: bool,
    /// How many of the best to keep.
    pub top: u64,
}

/// A checkpoint to load, for [`Trainer::load_checkpoint`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Load<'a> {
    /// A checkpoint or a run directory; empty for the run's own. On several ranks give a path: only rank 0
    /// has the run directory, and an empty path is an error on the others.
    pub path: &'a str,
    /// The epoch of the checkpoint; `None` for the newest. With an epoch, `path` is a run directory or its
    /// folder of checkpoints.
    pub epoch: Option<u64>,
    /// Load only the model; otherwise everything, and the run continues from the checkpoint.
    pub weights_only: bool,
    /// With `weights_only`: every tensor must match; otherwise those that match by name and shape are loaded,
    /// with a warning for each of the others. A whole checkpoint must always match.
    pub strict: bool,
}

/// Checkpoints. [`request_checkpoint`](Self::request_checkpoint) requests one.
///
/// None of these methods touches a checkpoint: the loop does the work, at the next checkpoint or after
/// `before_train`. Rules and names are not saved: set them in every process, also after a resume. A host
/// before ABI 1.1 has none of them.
impl Trainer {
    /// Sets which checkpoints of this hook are kept, replacing its previous rule. The newest checkpoint of
    /// the run is always kept.
    ///
    /// Takes effect when the next checkpoint is complete. Call it in `before_train` or when a value changes;
    /// it does no work by itself.
    pub fn keep_checkpoints(&mut self, keep: &Keep<'_>) -> Result<()> {
        self.host.keep_checkpoints(keep)
    }

    /// Loads a checkpoint after `before_train`, once all hooks were called there; call it there or earlier. A
    /// later request replaces an earlier one; a request after `before_train`, or in an evaluation or a
    /// prediction, has no effect.
    ///
    /// The whole checkpoint is read and verified. `load_state` of each hook and `after_load_checkpoint`
    /// follow; with [`Load::weights_only`] only the latter. On several ranks every rank must request the same
    /// checkpoint.
    ///
    /// A missing or damaged checkpoint is reported when it is loaded, and ends the run.
    ///
    /// # Errors
    /// The hook does not declare `mutates = "params"`.
    pub fn load_checkpoint(&mut self, load: &Load<'_>) -> Result<()> {
        self.host.load_checkpoint(load)
    }

    /// Gives the checkpoints of this hook a second name: a link next to them.
    ///
    /// `{iter}` and `{epoch}` are replaced by those of the checkpoint. A name without either is a single link
    /// to the best checkpoint by the rule of [`keep_checkpoints`](Self::keep_checkpoints), or else to the
    /// newest. An empty pattern adds no name. The link is made when the checkpoint is complete and removed
    /// with it. If it cannot be made, because a file has that name or the file system has no links, the log
    /// has a warning.
    ///
    /// `folder/{iter}` also puts the checkpoints of the run into a folder, relative to the working directory,
    /// which is created now if it is missing; `folder/` does only that. Call it in `before_run`; a host
    /// before 1.2 returns an error.
    ///
    /// # Errors
    /// The name is longer than 200 bytes, begins with a dot, or is reserved (`latest`, `best`, `iter_` and a
    /// number); or the run has checkpoints in another folder.
    pub fn name_checkpoints(&mut self, pattern: &str) -> Result<()> {
        self.host.name_checkpoints(pattern)
    }

    /// As [`load_checkpoint`](Self::load_checkpoint), from the checkpoints whose second name ends in
    /// `suffix`.
    ///
    /// `path` is a run directory or its folder of checkpoints, unless `suffix` is empty.
    pub fn load_checkpoint_named(&mut self, load: &Load<'_>, suffix: &str) -> Result<()> {
        self.host.load_checkpoint_named(load, suffix)
    }
}
