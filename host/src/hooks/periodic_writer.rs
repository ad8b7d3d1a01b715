//! `PeriodicWriter`: decides when the writers write, as in LiBai.

use hookrack_plugin_api::prelude::*;

/// Writes scalars every few iterations and at the end, but not after evaluations: their values are
/// written with the next iteration that is due.
#[derive(Settings)]
pub(super) struct PeriodicWriter {
    /// Iterations between writes.
    #[param(default = 20, min = 1, alias = "interval")]
    period: u64,
    /// The writers, by LiBai's names. The console (`CommonMetricPrinter`) and `metrics.json` (`JSONWriter`) always
    /// write; `TensorboardXWriter` writes event files to `tb` in the run directory.
    #[param(default = [Name::CommonMetricPrinter, Name::JsonWriter])]
    writers: Vec<Name>,
}

/// A writer of LiBai's.
#[derive(Settings, PartialEq)]
enum Name {
    /// The console.
    #[param(name = "CommonMetricPrinter")]
    CommonMetricPrinter,
    /// `metrics.json`.
    #[param(name = "JSONWriter")]
    JsonWriter,
    /// Event files.
    #[param(name = "TensorboardXWriter")]
    TensorboardXWriter,
}

impl PeriodicWriter {
    fn write_if_due(&self, t: &mut Trainer) -> Result<()> {
        let is_due = t.iter().is_multiple_of(self.period) || t.iter() == t.max_iters();
        if is_due { t.write_events() } else { Ok(()) }
    }
}

#[hook(level = 52, reads = "events, metrics")]
impl Hook for PeriodicWriter {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        let has_events = self.writers.contains(&Name::TensorboardXWriter);
        if has_events { t.open_writer("tensorboard", "") } else { Ok(()) }
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.write_if_due(t)
    }

    // An evaluation of the same iteration runs after that.
    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        self.write_if_due(t)
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        t.write_events()
    }
}
