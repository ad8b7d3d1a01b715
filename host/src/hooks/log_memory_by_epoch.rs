//! `LogMemoryByEpochHook`: current and peak memory of the process.

use hookrack_plugin_api::prelude::*;
use std::fs;

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

/// Memory of the process in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    /// Current memory.
    now: f64,
    /// Peak memory since the peak was last reset.
    peak: f64,
}

/// Parses `/proc/self/status`, whose unit is KiB.
fn parse(status: &str) -> Option<Memory> {
    Some(Memory { now: field(status, "VmRSS")? / 1024.0, peak: field(status, "VmHWM")? / 1024.0 })
}

/// The number of a line such as `VmRSS:   1024 kB`.
fn field(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

/// Used and total memory of the machine in GiB, from `/proc/meminfo`, whose unit is KiB.
fn machine(meminfo: &str) -> Option<(f64, f64)> {
    let [all, free] = [field(meminfo, "MemTotal")?, field(meminfo, "MemAvailable")?];
    Some(((all - free) / 1_048_576.0, all / 1_048_576.0))
}

fn report_machine(t: &mut Trainer, after: &str) -> Result<()> {
    let Some((used, all)) =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine(&text))
    else {
        return Ok(());
    };
    let percent = 100.0 * used / all;
    info!("{after}: the machine has {used:.1} of {all:.1} GiB in use, {percent:.0} %");
    let key = t.scalar_key("@machine_memory_percent", false)?;
    t.put(key, percent)
}

fn report(t: &mut Trainer, after: &str) -> Result<()> {
    let Some(memory) = fs::read_to_string("/proc/self/status").ok().and_then(|text| parse(&text))
    else {
        return Ok(());
    };
    info!(
        "{after}: {:.1} MiB now, {:.1} MiB at most since the last report",
        memory.now, memory.peak
    );
    for (name, value) in [("@memory_mb", memory.now), ("@memory_peak_mb", memory.peak)] {
        let key = t.scalar_key(name, false)?;
        t.put(key, value)?;
    }
    // Resets the peak for the next line. Without permission, the peak is that of the whole run.
    let _ = fs::write("/proc/self/clear_refs", "5");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words_become_mebibytes() {
        let status = "Name:\thookrack\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n";
        assert_eq!(parse(status), Some(Memory { now: 100.0, peak: 200.0 }));
        assert_eq!(parse("Name:\thookrack\n"), None);
        let meminfo = "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:  6291456 kB\n";
        assert_eq!(machine(meminfo), Some((2.0, 8.0)));
    }
}
