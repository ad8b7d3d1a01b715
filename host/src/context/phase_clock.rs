//! How long a run was in each phase.

use hookrack_plugin_api::Phase;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time spent in each phase, from its creation; the time before the first switch counts as training.
pub struct PhaseClock {
    spent: Cell<[Duration; 4]>,
    since: Cell<Instant>,
}

impl PhaseClock {
    pub(super) fn start() -> Self {
        Self { spent: Cell::default(), since: Cell::new(Instant::now()) }
    }

    /// The phase ends here.
    pub(super) fn leave(&self, phase: Phase) {
        let now = Instant::now();
        let mut spent = self.spent.get();
        spent[phase as usize] += now - self.since.replace(now);
        self.spent.set(spent);
    }

    /// The time in each phase that was entered, up to now.
    pub fn spent(&self, current: Phase) -> Vec<(Phase, Duration)> {
        self.leave(current);
        let times = Phase::ALL.into_iter().zip(self.spent.get());
        times.filter(|(_, time)| !time.is_zero()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_the_time_until_it_was_left() {
        let clock = PhaseClock::start();
        std::thread::sleep(Duration::from_millis(2));
        clock.leave(Phase::Train);
        std::thread::sleep(Duration::from_millis(3));
        let spent = clock.spent(Phase::Val);
        let phases: Vec<_> = spent.iter().map(|(phase, _)| *phase).collect();
        assert_eq!(phases, [Phase::Train, Phase::Val]);
        assert!(spent[0].1 >= Duration::from_millis(2) && spent[1].1 >= Duration::from_millis(3));
    }
}
