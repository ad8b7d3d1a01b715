//! Which checkpoints stay, and which one is loaded.

use super::Trainer;
use crate::error::Result;

/// What stays of the checkpoints that a hook asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// So many of the newest; `None` for all.
    pub last: Option<u64>,
    /// Those of every so many-th epoch, for good; 0 for none.
    pub every_epochs: u64,
    /// Those of every so many-th iteration, for good; 0 for none.
    pub every_iters: u64,
    /// Those with the best values of a metric, such as `val/Accuracy`; empty for none.
    pub metric: &'a str,
    /// Whether a higher value of it is better.
    pub higher_is_better: bool,
    /// How many of the best.
    pub top: u64,
}

/// A checkpoint to load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load<'a> {
    /// A checkpoint or a run directory; empty for the run's own.
    pub path: &'a str,
    /// The epoch whose checkpoint it is; `None` for the newest.
    pub epoch: Option<u64>,
    /// Load only the model; otherwise everything, and the run continues where it was.
    pub weights_only: bool,
    /// Every tensor must fit; else those that do are taken.
    pub strict: bool,
}

/// Checkpoints.
impl Trainer {
    /// Says what stays of the checkpoints that this hook asks for, in place of what it said before. The newest of the
    /// run always stays.
    pub fn keep_checkpoints(&mut self, keep: &Keep<'_>) -> Result<()> {
        self.host.keep_checkpoints(keep)
    }

    /// Loads a checkpoint when this point is over. Call it at `before_train`.
    pub fn load_checkpoint(&mut self, load: &Load<'_>) -> Result<()> {
        self.host.load_checkpoint(load)
    }

    /// Gives the checkpoints that this hook asks for a second name: a link beside them. `{iter}` and `{epoch}` stand for
    /// the checkpoint's; a name without either moves on to the best by what was said to
    /// [`keep_checkpoints`](Self::keep_checkpoints), else to the newest. An empty one gives none.
    pub fn name_checkpoints(&mut self, pattern: &str) -> Result<()> {
        self.host.name_checkpoints(pattern)
    }

    /// As [`load_checkpoint`](Self::load_checkpoint), out of those with a second name that ends in `suffix`.
    pub fn load_checkpoint_named(&mut self, load: &Load<'_>, suffix: &str) -> Result<()> {
        self.host.load_checkpoint_named(load, suffix)
    }
}
