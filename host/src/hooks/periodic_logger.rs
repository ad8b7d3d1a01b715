//! `PeriodicLogger`: says when the writers write.

use hookrack_plugin_api::prelude::*;

/// Has the writers write every so many iterations, after each evaluation, and at the end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PeriodicLogger {
    /// Iterations between two lines.
    #[serde(alias = "period")]
    #[param(default = 20, min = 1)]
    interval: u64,
}

#[hook(level = 52, reads = "events, metrics")]
impl Hook for PeriodicLogger {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if t.iter().is_multiple_of(self.interval) { t.write_events() } else { Ok(()) }
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        t.write_events()
    }

    fn after_cycle(&mut self, t: &mut Trainer) -> Result<()> {
        t.write_events()
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        t.write_events()
    }
}
