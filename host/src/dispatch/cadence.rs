//! When a hook runs: `every = "100it"`, `phase = "val"`.

use crate::config::{Every, Phases};
use crate::progress::Progress;
use hookrack_plugin_api::point::Pace;
use hookrack_plugin_api::{Phase, Point};

/// A hook's cadence and phases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallFilter {
    /// How often.
    pub every: Every,
    /// In which phases.
    pub phases: Phases,
}

impl CallFilter {
    /// At every occurrence, in every phase.
    pub const ALWAYS: Self = Self { every: Every::Always, phases: Phases::ALL };

    /// Whether nothing is ever filtered: the common case, which skips the check.
    pub fn is_always(&self) -> bool {
        self.every.is_each() && self.phases == Phases::ALL
    }

    /// Whether a hook runs at this occurrence of a point.
    pub fn allows(&self, point: Point, progress: &Progress) -> bool {
        let pace = point.pace();
        if pace == Pace::Run {
            return true;
        }
        let phase = progress.phase;
        let iter = if phase == Phase::Train { progress.iter } else { progress.inner_iter };
        self.phases.contains(phase) && self.every.is_due(pace, progress.epoch, iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase, epoch: u64, iter: u64, inner_iter: u64) -> Progress {
        Progress { phase, epoch, iter, inner_iter, ..Progress::default() }
    }

    #[test]
    fn every_100it_runs_in_each_hundredth_iteration_and_leaves_brackets_alone() {
        let when = CallFilter { every: Every::Iters(100), phases: Phases::ALL };
        assert!(!when.allows(Point::AfterTrainIter, &at(Phase::Train, 1, 99, 99)));
        assert!(when.allows(Point::AfterTrainIter, &at(Phase::Train, 2, 200, 14)));
        assert!(when.allows(Point::AfterTrainEpoch, &at(Phase::Train, 1, 57, 57)));
        assert!(when.allows(Point::BeforeTrain, &at(Phase::Train, 0, 0, 0)));
        assert!(when.allows(Point::AfterValIter, &at(Phase::Val, 1, 57, 100)));
    }

    #[test]
    fn every_2ep_runs_in_each_second_epoch() {
        let when = CallFilter { every: Every::Epochs(2), phases: Phases::ALL };
        assert!(!when.allows(Point::AfterTrainEpoch, &at(Phase::Train, 3, 30, 10)));
        assert!(when.allows(Point::AfterVal, &at(Phase::Val, 4, 40, 10)));
        assert!(when.allows(Point::AfterTrainIter, &at(Phase::Train, 4, 31, 1)));
    }
}
