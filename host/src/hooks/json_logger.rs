//! `JSONLoggerHook`: has the scalars written as lines of JSON once more, under iMIX's name.

use hookrack_plugin_api::prelude::*;

/// Has the lines of `metrics.json` written to `training_status.json` too, where programs made for iMIX's runs look.
#[derive(Settings)]
pub(super) struct JsonLoggerHook {
    /// The folder of the run directory that the file goes to; `"."` is the run directory itself.
    #[param(default = "json", alias = "work_dir")]
    log_dir: String,
}

#[hook(level = HIGHEST, on_error = "abort")]
impl Hook for JsonLoggerHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        t.open_writer("json", &self.log_dir)
    }
}
