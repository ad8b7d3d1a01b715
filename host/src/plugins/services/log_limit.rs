//! Limits the number and the length of log lines per instance, so that one plugin cannot fill the disk or hide other messages.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Lines a second.
pub(super) const MOST: u64 = 1000;

/// Bytes of a line.
const LONGEST: usize = 64 << 10;

/// A line that is too long is cut, and says so.
pub(super) fn cut(line: Cow<'_, str>) -> Cow<'_, str> {
    if line.len() <= LONGEST {
        return line;
    }
    format!("{}… (cut: {} bytes)", &line[..line.floor_char_boundary(LONGEST)], line.len()).into()
}

/// The lines of one instance. Any thread may count.
#[derive(Debug, Default)]
pub(super) struct LogLimit {
    // The second in the upper half, its lines in the lower.
    seen: AtomicU64,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It is logged.
    Logged,
    /// It is the first of its second that is not.
    FirstLeftOut,
    /// It is not logged.
    LeftOut,
}

impl LogLimit {
    /// Counts a line.
    pub(super) fn count(&self) -> Line {
        static START: OnceLock<Instant> = OnceLock::new();
        self.count_in(START.get_or_init(Instant::now).elapsed().as_secs())
    }

    fn count_in(&self, second: u64) -> Line {
        let next = |seen: u64| if seen >> 32 == second { seen + 1 } else { second << 32 | 1 };
        let before = self.seen.fetch_update(Relaxed, Relaxed, |seen| Some(next(seen)));
        match next(before.unwrap_or_else(|seen| seen)) & 0xffff_ffff {
            ..=MOST => Line::Logged,
            count if count == MOST + 1 => Line::FirstLeftOut,
            _ => Line::LeftOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters() {
        assert_eq!(cut("é".into()), "é");
        let long = cut(format!("x{}", "é".repeat(LONGEST)).into());
        assert!(long.starts_with("xé") && long.len() < LONGEST + 100);
        assert!(long.ends_with("é… (cut: 131073 bytes)"), "{}", &long[LONGEST - 10..]);
    }

    #[test]
    fn each_second_has_its_lines() {
        let limit = LogLimit::default();
        assert!((0..MOST).all(|_| limit.count_in(7) == Line::Logged));
        assert_eq!(limit.count_in(7), Line::FirstLeftOut);
        assert_eq!(limit.count_in(7), Line::LeftOut);
        assert_eq!(limit.count_in(8), Line::Logged);
    }
}
