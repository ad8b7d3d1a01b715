//! `LogMemoryByEpochHook`: current and peak memory of the process.

use super::process_memory;
use hookrack_plugin_api::prelude::*;

/// Logs the current and peak memory of the process after each epoch and evaluation, as a message and as scalars.
#[derive(Settings)]
pub(super) struct LogMemoryByEpochHook {
    /// Log a line after evaluations too.
    #[param(default = true)]
    log_eval: bool,
    /// Also log the memory in use on the whole machine, in GiB and percent.
    #[param(default)]
    report_cpu: bool,
}

fn report_machine(t: &mut Trainer, after: &str) -> Result<()> {
    let Some((used, all)) = process_memory::of_machine() else { return Ok(()) };
    let percent = 100.0 * used / all;
    info!("{after}: the machine has {used:.1} of {all:.1} GiB in use, {percent:.0} %");
    let key = t.scalar_key("@machine_memory_percent", false)?;
    t.put(key, percent)
}

fn report(t: &mut Trainer, after: &str) -> Result<()> {
    let Some(memory) = process_memory::of_process() else { return Ok(()) };
    info!(
        "{after}: {:.1} MiB now, {:.1} MiB at most since the last report",
        memory.now, memory.peak
    );
    for (name, value) in [("@memory_mb", memory.now), ("@memory_peak_mb", memory.peak)] {
        let key = t.scalar_key(name, false)?;
        t.put(key, value)?;
    }
    process_memory::reset_peak();
    Ok(())
}

impl LogMemoryByEpochHook {
    fn report(&self, t: &mut Trainer, after: &str) -> Result<()> {
        report(t, after)?;
        if self.report_cpu { report_machine(t, after) } else { Ok(()) }
    }
}

#[hook(level = 19, every = "1ep", writes = "events")]
impl Hook for LogMemoryByEpochHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.report(t, "before training")
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.report(t, &format!("after epoch {}", t.epoch()))
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        if self.log_eval {
            self.report(t, &format!("after {} in epoch {}", t.phase().name(), t.epoch()))?;
        }
        Ok(())
    }
}
