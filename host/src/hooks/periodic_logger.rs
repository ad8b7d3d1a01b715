//! `PeriodicLogger`: decides when the writers write.

use hookrack_plugin_api::prelude::*;

/// Writes scalars every few iterations, after each evaluation and at the end. Files contain the raw values; the console
/// shows medians.
#[derive(Settings)]
pub(super) struct PeriodicLogger {
    /// Iterations between lines on the console.
    #[param(default = 20, min = 1, alias = "period")]
    interval: u64,
    /// Which values are written to `metrics.json` and TensorBoard: the last one of each interval, or all.
    #[param(default)]
    record: Record,
}

/// Which values of a scalar are written to files.
#[derive(Default, Settings, PartialEq)]
enum Record {
    /// The last one when the writers write.
    #[default]
    Last,
    /// That of each iteration.
    All,
}

#[hook(level = 52, reads = "events, metrics")]
impl Hook for PeriodicLogger {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        match self.record {
            _ if t.iter().is_multiple_of(self.interval) => t.write_events(),
            Record::All => t.record_events(),
            Record::Last => Ok(()),
        }
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
