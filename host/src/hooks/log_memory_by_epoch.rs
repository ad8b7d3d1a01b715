//! `LogMemoryByEpochHook`: how much memory the process has, and had at most.

use hookrack_plugin_api::prelude::*;
use std::fs;

/// Logs the memory of the process after each epoch and evaluation, now and at most, and puts both as scalars.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogMemoryByEpochHook {
    /// Epochs between two lines.
    #[serde(default = "one")]
    #[param(min = 1)]
    interval: u64,
    /// Whether there is a line after evaluations too.
    #[serde(default = "yes")]
    log_eval: bool,
}

fn one() -> u64 {
    1
}
fn yes() -> bool {
    true
}

/// Memory of the process in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    /// What it has.
    now: f64,
    /// What it had at most since the peak was last forgotten.
    peak: f64,
}

/// The memory in the words of `/proc/self/status`, which counts in KiB.
fn parse(status: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse::<f64>().ok()
    };
    Some(Memory { now: field("VmRSS")? / 1024.0, peak: field("VmHWM")? / 1024.0 })
}

fn report(t: &mut Trainer, after: &str) -> Result<()> {
    let Some(memory) = fs::read_to_string("/proc/self/status").ok().and_then(|text| parse(&text))
    else {
        return Ok(());
    };
    info!("{after}: {:.1} MiB now, {:.1} MiB at most since last told", memory.now, memory.peak);
    for (name, value) in [("@memory_mb", memory.now), ("@memory_peak_mb", memory.peak)] {
        let key = t.scalar_key(name, false)?;
        t.put(key, value)?;
    }
    // The next line is about what comes next. Where that is not allowed the peak is the run's.
    let _ = fs::write("/proc/self/clear_refs", "5");
    Ok(())
}

#[hook(level = 19, writes = "events")]
impl Hook for LogMemoryByEpochHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        report(t, "before training")
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if t.epoch().is_multiple_of(self.interval) {
            report(t, &format!("after epoch {}", t.epoch()))?;
        }
        Ok(())
    }

    fn after_eval(&mut self, t: &mut Trainer) -> Result<()> {
        if self.log_eval && t.epoch().is_multiple_of(self.interval) {
            report(t, &format!("after {} in epoch {}", t.phase().name(), t.epoch()))?;
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
    }
}
