//! The length of a run: from its limits, and from where it stands.

use super::loaders::{Loaders, iters_in_epoch};
use crate::config::ResolvedConfig;
use crate::engine::lr::Horizon;

/// Where a run stands; a new one at 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// Epochs begun.
    pub(super) epoch: u64,
    /// Iterations done.
    pub(super) iter: u64,
    /// Iterations of the epoch in progress that are not done.
    pub(super) rest: u64,
}

/// The configured limits; a limit that is not set is never reached.
pub fn limits(config: &ResolvedConfig) -> Horizon {
    Horizon {
        iters: config.train.max_iters.unwrap_or(u64::MAX),
        epochs: config.train.max_epochs.unwrap_or(u64::MAX),
    }
}

/// The length of a new run.
pub(super) fn of_new(config: &ResolvedConfig, loaders: &Loaders) -> Horizon {
    length(limits(config), iters_in_epoch(config, &loaders.train), Standing::default())
}

/// The length of a run whose remaining epochs have `in_epoch` iterations each; those done may have had another number.
pub(super) fn length(limits: Horizon, in_epoch: u64, at: Standing) -> Horizon {
    let Some(left) = limits.epochs.checked_sub(at.epoch) else {
        // The limit was lowered below what is done.
        return Horizon { iters: limits.iters.min(at.iter), epochs: limits.epochs };
    };
    let closed = at.iter.saturating_add(at.rest);
    let to_come = limits.iters.saturating_sub(closed).div_ceil(in_epoch);
    Horizon {
        iters: limits.iters.min(closed.saturating_add(left.saturating_mul(in_epoch))),
        epochs: limits.epochs.min(at.epoch.saturating_add(to_come)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: u64 = u64::MAX;

    fn found(epochs: u64, iters: u64, in_epoch: u64, at: [u64; 3]) -> (u64, u64) {
        let [epoch, iter, rest] = at;
        let found = length(Horizon { iters, epochs }, in_epoch, Standing { epoch, iter, rest });
        (found.epochs, found.iters)
    }

    #[test]
    fn a_run_ends_at_the_limit_that_is_reached_first() {
        assert_eq!(found(3, NONE, 15, [0; 3]), (3, 45));
        assert_eq!(found(NONE, 40, 15, [0; 3]), (3, 40));
        assert_eq!(found(3, 20, 15, [0; 3]), (2, 20));
    }

    #[test]
    fn a_position_does_not_change_the_length_if_the_epochs_are_as_long_as_before() {
        for at in [[1, 1, 14], [1, 15, 0], [2, 20, 10], [3, 45, 0]] {
            assert_eq!(found(3, NONE, 15, at), (3, 45), "{at:?}");
            assert_eq!(found(NONE, 45, 15, at), (3, 45), "{at:?}");
            assert_eq!(found(3, 40, 15, at), (3, 40), "{at:?}");
        }
    }

    #[test]
    fn every_epoch_is_trained_if_the_epochs_have_another_length_now() {
        // 20 iterations of 15 an epoch are done; now an epoch has 8.
        assert_eq!(found(3, NONE, 8, [2, 20, 3]), (3, 31));
        assert_eq!(found(3, NONE, 30, [2, 20, 25]), (3, 75));
        // With a limit of iterations, as many epochs as these take.
        assert_eq!(found(NONE, 45, 30, [2, 30, 0]), (3, 45));
        assert_eq!(found(NONE, 45, 8, [2, 20, 3]), (5, 45));
    }

    #[test]
    fn a_limit_below_what_is_done_ends_the_run() {
        assert_eq!(found(1, NONE, 15, [2, 20, 10]), (1, 20));
        assert_eq!(found(NONE, 18, 15, [2, 20, 10]), (2, 18));
    }
}
