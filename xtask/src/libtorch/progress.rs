//! Progress of a download: a bar on a terminal, a line every few seconds elsewhere.

use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};

use crate::report;

/// Often enough to show activity in a CI log, without filling it.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Progress {
    total: u64,
    begin: u64,
    since: Instant,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Progress {
    pub(crate) fn new(total: u64) -> Self {
        let now = Instant::now();
        let shown = if std::io::stderr().is_terminal() {
            Shown::Bar(bar(total))
        } else {
            Shown::Lines { last: now }
        };
        Self { total, begin: 0, since: now, shown }
    }

    /// A transfer begins at this byte; earlier bytes do not count for the rate.
    pub(crate) fn begin(&mut self, at: u64) {
        self.begin = at;
        self.since = Instant::now();
        if let Shown::Bar(bar) = &self.shown {
            bar.set_position(at);
            bar.reset_eta();
        }
    }

    pub(crate) fn advance(&mut self, at: u64) {
        let text = line(at, self.total, at.saturating_sub(self.begin), self.since.elapsed());
        match &mut self.shown {
            Shown::Bar(bar) => bar.set_position(at),
            Shown::Lines { last } => {
                if last.elapsed() >= BETWEEN_LINES || at == self.total {
                    *last = Instant::now();
                    report::note(&text);
                }
            }
        }
    }

    /// Leaves the bar in its last state.
    pub(crate) fn end(self) {
        if let Shown::Bar(bar) = self.shown {
            bar.abandon();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let shape = "    [{bar:30}] {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
    let style =
        ProgressStyle::with_template(shape).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style.progress_chars("=> "))
}

fn line(at: u64, total: u64, received: u64, elapsed: Duration) -> String {
    let percent = at.saturating_mul(100) / total.max(1);
    let so_far = format!("{} of {} ({percent} %)", DecimalBytes(at), DecimalBytes(total));
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = received.saturating_mul(1000) / millis;
    match total.saturating_sub(at).checked_div(rate) {
        Some(left) => format!("{so_far}, {}/s, {left} s left", DecimalBytes(rate)),
        None => so_far,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_amount_share_rate_and_time_left() {
        let text = line(120_000_000, 520_000_000, 80_000_000, Duration::from_secs(2));
        assert_eq!(text, "120.00 MB of 520.00 MB (23 %), 40.00 MB/s, 10 s left");
    }

    #[test]
    fn there_is_no_rate_before_the_first_bytes() {
        let text = line(120_000_000, 520_000_000, 0, Duration::ZERO);
        assert_eq!(text, "120.00 MB of 520.00 MB (23 %)");
    }
}
