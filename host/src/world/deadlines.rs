//! How the time in which a missing rank must be named is divided: most of it is for collectives, the rest for finding out which rank it is.

use std::time::Duration;

/// The most that is kept for naming the missing rank.
const RESERVE: Duration = Duration::from_secs(5);
/// How long to wait for a failed rank to report why, if there is time.
const REPORT: Duration = Duration::from_secs(3);

/// The parts of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadlines {
    all: Duration,
    reserve: Duration,
}

impl Deadlines {
    /// Divides a timeout.
    pub(super) fn of(timeout: Duration) -> Self {
        Self { all: timeout, reserve: RESERVE.min(timeout / 4) }
    }

    /// How long a collective may take.
    pub(super) fn collective(self) -> Duration {
        self.all.saturating_sub(self.reserve)
    }

    /// How long to wait for a store that has not answered for a while.
    pub(super) fn answer(self) -> Duration {
        self.reserve / 5
    }

    /// How long to wait for a failed rank to report why, after a collective has taken so long. A fifth of the reserve remains.
    pub(super) fn report(self, collective: Duration) -> Duration {
        let left = self.all.saturating_sub(collective).saturating_sub(2 * self.answer());
        left.clamp(self.answer(), REPORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_named_within_the_timeout_however_short_it_is() {
        for timeout in [1, 3, 10, 20, 600].map(Duration::from_secs) {
            let deadlines = Deadlines::of(timeout);
            let (collective, answer) = (deadlines.collective(), deadlines.answer());
            assert!(collective + deadlines.report(collective) + answer < timeout, "{timeout:?}");
            assert!(collective >= timeout * 3 / 4, "{timeout:?}");
        }
    }

    #[test]
    fn a_rank_that_closed_its_connections_has_time_to_report_why() {
        assert_eq!(Deadlines::of(Duration::from_secs(10)).report(Duration::ZERO), REPORT);
    }
}
