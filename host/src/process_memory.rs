//! The memory of this process, as the kernel reports it.

use std::fs;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Now.
    pub current: u64,
    /// The most so far.
    pub peak: u64,
}

impl ProcessMemory {
    /// Reads it; `None` without `/proc`.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/status").ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let bytes = |name| {
            let kib = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(kib.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
        };
        Some(Self { current: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_kibibytes_become_bytes() {
        let status = "Name:\thookrack\nVmHWM:\t  200 kB\nVmRSS:\t  100 kB\n";
        let memory = ProcessMemory { current: 102_400, peak: 204_800 };
        assert_eq!(ProcessMemory::parse(status), Some(memory));
        assert_eq!(ProcessMemory::parse("Name:\thookrack\n"), None);
        assert!(ProcessMemory::read().is_some_and(|memory| memory.peak >= memory.current));
    }
}
