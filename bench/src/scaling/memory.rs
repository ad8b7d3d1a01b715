//! Which sizes fit into the memory that this machine has left.

use crate::progress::say;

/// What the rest of the system may need meanwhile.
const SPARE: u64 = 1 << 30;

/// Whether so many parameters fit, with so many bytes for each. If not, the reason is said.
pub(super) fn has_room(what: &str, parameters: u32, bytes: u64) -> bool {
    let needed = u64::from(parameters) * bytes;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let Some(available) = available(&text) else { return true };
    if needed + SPARE <= available {
        return true;
    }
    say(&format!(
        "{what}: {parameters} parameters are skipped, {} MB are needed and {} MB are available",
        needed >> 20,
        available.saturating_sub(SPARE) >> 20
    ));
    false
}

/// The bytes that programs can have without swapping; `None` if unknown.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_is_available() {
        let text = "MemTotal:  2000 kB\nMemFree:  10 kB\nMemAvailable:    1000 kB\n";
        assert_eq!(available(text), Some(1_024_000));
        assert_eq!(available("MemTotal:  2000 kB\n"), None);
    }

    #[test]
    fn what_no_machine_has_does_not_fit() {
        assert!(has_room("a test", 1, 1));
        let is_unknown = available(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default());
        assert_eq!(has_room("a test", u32::MAX, 1 << 30), is_unknown.is_none());
    }
}
