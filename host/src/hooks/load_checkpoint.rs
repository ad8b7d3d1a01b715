//! `LoadCheckpointHook`: training starts from a checkpoint, as with ColossalAI's hook of that name.

use hookrack_plugin_api::prelude::*;

/// Loads a checkpoint before training. A resumed run loads its own checkpoint instead.
#[derive(Settings)]
pub(super) struct LoadCheckpointHook {
    /// A checkpoint or a run directory. Default: this run's own.
    #[param(default)]
    checkpoint_dir: String,
    /// Epoch of the checkpoint to load; -1 for the newest.
    #[param(default = -1, min = -1)]
    epoch: i64,
    /// Load only the weights and start at the first epoch; otherwise resume where the checkpoint was saved.
    #[param(default)]
    finetune: bool,
    /// Require every tensor to match; otherwise only the weights that match are loaded.
    #[param(default)]
    strict: bool,
    /// Only checkpoints whose second name ends with this, the `suffix` of `SaveCheckpointHook`.
    #[param(default)]
    suffix: String,
}

#[hook(level = HIGHEST, mutates = "params", on_error = "abort")]
impl Hook for LoadCheckpointHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        if t.iter() > 0 {
            info!("the run resumes from its own checkpoint: nothing is loaded");
            return Ok(());
        }
        let load = Load {
            path: &self.checkpoint_dir,
            epoch: u64::try_from(self.epoch).ok(),
            weights_only: self.finetune,
            strict: self.strict,
        };
        match self.suffix.as_str() {
            "" => t.load_checkpoint(&load),
            suffix => t.load_checkpoint_named(&load, suffix),
        }
    }
}
