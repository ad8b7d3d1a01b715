//! `LoadCheckpointHook`: training begins with a checkpoint, as ColossalAI's hook of that name does it.

use hookrack_plugin_api::prelude::*;

/// Loads a checkpoint before training. A run that was resumed already has one, and is left alone.
#[derive(Settings)]
pub(super) struct LoadCheckpointHook {
    /// A checkpoint or a run directory; the run's own where it is not given.
    #[param(default)]
    checkpoint_dir: String,
    /// The epoch whose checkpoint it is; -1 for the newest.
    #[param(default = -1, min = -1)]
    epoch: i64,
    /// Takes the weights alone and begins at the first epoch; else the run goes on where the other was.
    #[param(default)]
    finetune: bool,
    /// Every tensor must fit; else those of the weights that do are taken.
    #[param(default)]
    strict: bool,
    /// Out of those with a second name that ends so, which `SaveCheckpointHook` gives by its `suffix`.
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
