//! Checks of memory before it is allocated.

use super::error::{EngineError, Result};

/// Every machine has this much: smaller requests are not checked.
const LITTLE: u128 = 1 << 28;

/// Refuses requests for more memory than the machine has, swap included. If that is unknown, nothing is refused.
pub(super) fn check(key: &'static str, what: impl Into<String>, bytes: u128) -> Result<()> {
    if bytes < LITTLE {
        return Ok(());
    }
    match installed() {
        Some(installed) if bytes > u128::from(installed) => {
            Err(EngineError::TooLarge { key, what: what.into(), bytes })
        }
        _ => Ok(()),
    }
}

/// Bytes of memory and swap; `None` if unknown.
fn installed() -> Option<u64> {
    of_meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn of_meminfo(text: &str) -> Option<u64> {
    let kib = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let all = kib("MemTotal")?.checked_add(kib("SwapTotal").unwrap_or(0))?;
    all.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_swap_are_added_and_nonsense_is_unknown() {
        let text = "MemTotal:       1000 kB\nMemFree: 3 kB\nSwapTotal:  24 kB\n";
        assert_eq!(of_meminfo(text), Some(1024 * 1024));
        assert_eq!(of_meminfo("MemTotal:       1000 kB\n"), Some(1000 * 1024));
        assert_eq!(of_meminfo("MemTotal: many\n"), None);
        assert_eq!(of_meminfo(""), None);
    }

    #[test]
    fn what_no_machine_has_is_refused_with_the_number() {
        assert!(check("shape", "a sample", 4096).is_ok());
        let Err(error) = check("shape", "a sample", 1 << 80) else {
            // A system that does not say how much memory it has.
            assert_eq!(installed(), None);
            return;
        };
        let wanted =
            "a sample: 1208925819614629174706176 bytes are needed, more than this machine has";
        assert_eq!(error.to_string(), wanted);
    }
}
