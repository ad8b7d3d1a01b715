//! `JSONLoggerHook`: writes the scalars to a second file of JSON lines, under iMIX's name.

use hookrack_plugin_api::prelude::*;

/// Also writes the lines of `metrics.json` to `training_status.json`, where tools for iMIX runs expect them.
#[derive(Settings)]
pub(super) struct JsonLoggerHook {
    /// Folder of the file inside the run directory; `"."` is the run directory itself.
    #[param(default = "json", alias = "work_dir")]
    log_dir: String,
}

#[hook(level = HIGHEST, ranks = "main", on_error = "abort")]
impl Hook for JsonLoggerHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        t.open_writer("json", &self.log_dir)
    }
}
