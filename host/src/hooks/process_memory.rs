//! The memory of the process and of the machine, as the kernel reports them.

use std::fs;

/// Memory of the process in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProcessMemory {
    /// Current memory.
    pub(super) now: f64,
    /// Peak memory since the peak was last reset.
    pub(super) peak: f64,
}

/// Reads the memory of the process; `None` without `/proc`.
pub(super) fn of_process() -> Option<ProcessMemory> {
    parse(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Used and total memory of the machine in GiB; `None` without `/proc`.
pub(super) fn of_machine() -> Option<(f64, f64)> {
    parse_machine(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// Starts a new peak. Without permission, the peak remains that of the whole run.
pub(super) fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Parses `/proc/self/status`, whose unit is KiB.
fn parse(status: &str) -> Option<ProcessMemory> {
    let [now, peak] = ["VmRSS", "VmHWM"].map(|name| field(status, name));
    Some(ProcessMemory { now: now? / 1024.0, peak: peak? / 1024.0 })
}

/// Parses `/proc/meminfo`, whose unit is KiB.
fn parse_machine(meminfo: &str) -> Option<(f64, f64)> {
    let [all, free] = [field(meminfo, "MemTotal")?, field(meminfo, "MemAvailable")?];
    Some(((all - free) / 1_048_576.0, all / 1_048_576.0))
}

/// The number of a line such as `VmRSS:   1024 kB`.
fn field(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_kibibytes_become_mebibytes() {
        let status = "Name:\thookrack\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n";
        assert_eq!(parse(status), Some(ProcessMemory { now: 100.0, peak: 200.0 }));
        assert_eq!(parse("Name:\thookrack\n"), None);
        let meminfo = "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:  6291456 kB\n";
        assert_eq!(parse_machine(meminfo), Some((2.0, 8.0)));
    }
}
