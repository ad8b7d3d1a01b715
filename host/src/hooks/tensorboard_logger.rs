//! `TensorboardLoggerHook`: has event files for TensorBoard written.

use hookrack_plugin_api::prelude::*;

/// Has scalars, pictures, histograms, texts and the config written as event files for TensorBoard, whenever the writers write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorboardLoggerHook {
    /// The folder of the run directory that they go to.
    #[serde(default = "tb", alias = "work_dir")]
    log_dir: String,
}

fn tb() -> String {
    "tb".to_owned()
}

#[hook(level = HIGHEST, aliases = "TensorboardHook", on_error = "abort")]
impl Hook for TensorboardLoggerHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        t.open_writer("tensorboard", self.log_dir.trim_start_matches("./"))
    }
}
