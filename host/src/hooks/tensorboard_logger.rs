//! `TensorboardLoggerHook`: writes event files for TensorBoard.

use hookrack_plugin_api::prelude::*;

/// Writes scalars, images, histograms, texts and the config to TensorBoard event files whenever scalars are written.
#[derive(Settings)]
pub(super) struct TensorboardLoggerHook {
    /// Folder of the event files, absolute or relative to the run directory. Several runs may share one outside of
    /// it.
    #[param(default = "tb", alias = "work_dir")]
    log_dir: String,
    /// Ranks of the processes that write; a single process has rank 0. Default: all.
    ranks: Option<Vec<u32>>,
    /// Process group that `ranks` refers to. A single process has rank 0 in every group.
    #[param(default)]
    parallel_mode: ParallelMode,
}

/// A group of processes, in ColossalAI's words.
#[derive(Default, Settings)]
enum ParallelMode {
    /// All of them.
    #[default]
    #[param(name = "GLOBAL")]
    Global,
    /// Those with the same part of the model.
    #[param(name = "DATA")]
    Data,
    /// Those with parts of one layer.
    #[param(name = "TENSOR")]
    Tensor,
    /// Those with parts of the layers.
    #[param(name = "PIPELINE")]
    Pipeline,
}

#[hook(level = HIGHEST, ranks = "main", aliases = "TensorboardHook", on_error = "abort")]
impl Hook for TensorboardLoggerHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        if self.ranks.as_ref().is_some_and(|ranks| !ranks.contains(&t.rank())) {
            return Ok(());
        }
        t.open_writer("tensorboard", &self.log_dir)
    }
}
