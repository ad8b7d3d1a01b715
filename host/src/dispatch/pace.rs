//! Hooks that take longer than `max_ms`: a warning, fewer calls, or none.

use super::rack::Attached;
use crate::config::{OnSlow, TimeLimit};
use crate::world::World;
use hookrack_plugin_api::{OnRanks, Point, point};
use quanta::Clock;
use std::time::Duration;

/// At least one of this many calls is made.
const THINNEST: u64 = 1024;

/// The time limit of a hook at a point, and how it keeps it.
pub(super) struct Pace {
    /// In ticks of the clock.
    pub(super) limit: u64,
    // Calls that took too long.
    slow: u64,
    // One of this many due calls is made.
    stride: u64,
    due: u64,
}

/// A call that took too long.
pub(super) struct SlowCall {
    pub(super) point: Point,
    pub(super) spent: Duration,
    pub(super) iter: u64,
}

impl Pace {
    pub(super) fn new(limit: Option<TimeLimit>, clock: &Clock) -> Self {
        let limit = limit.map_or(u64::MAX, |limit| ticks(limit.max_ms, clock));
        Self { limit, slow: 0, stride: 1, due: 0 }
    }

    /// Counts a call that is due; whether it is made.
    pub(super) fn is_due(&mut self) -> bool {
        self.due += 1;
        self.due.is_multiple_of(self.stride)
    }

    fn thin(&mut self) {
        (self.stride, self.due) = ((self.stride * 2).min(THINNEST), 0);
    }
}

/// Milliseconds in ticks of the clock.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a limit is not exact to the tick; one beyond 64 bits is no limit"
)]
pub(super) fn ticks(millis: f64, clock: &Clock) -> u64 {
    const SAMPLE: u64 = 1 << 40;
    let nanos = clock.delta(0, SAMPLE).as_nanos() as f64;
    (millis * 1e6 * (SAMPLE as f64 / nanos)) as u64
}

impl Attached {
    /// Applies `on_slow`; whether the calls at this point are thinned from now on. Roles and the points of a whole run are never left out, and on several ranks
    /// calls are not thinned: each rank measures its own.
    #[cold]
    pub(super) fn was_slow(
        &mut self,
        call: &SlowCall,
        pace: &mut Pace,
        world: Option<&World>,
    ) -> bool {
        let Some(limit) = self.spec.time_limit else { return false };
        pace.slow += 1;
        let can_skip = !call.point.is_role() && call.point.pace() != point::Pace::Run;
        let on_slow = match limit.on_slow {
            OnSlow::Thin if can_skip && world.is_none() => OnSlow::Thin,
            OnSlow::Disable if !call.point.is_role() => OnSlow::Disable,
            _ => OnSlow::Warn,
        };
        let then = match on_slow {
            OnSlow::Thin => {
                pace.thin();
                format!("; from now on it is called only once in {} times", pace.stride)
            }
            OnSlow::Disable => {
                self.disabled = true;
                "; it is disabled for the rest of the run".to_owned()
            }
            OnSlow::Warn => String::new(),
        };
        // A hook that is always slow is reported at its 1st, 2nd, 4th, 8th … slow call.
        if on_slow != OnSlow::Warn || pace.slow.is_power_of_two() {
            let (name, source, point) = (&self.spec.name, self.spec.source(), call.point);
            let millis = call.spent.as_secs_f64() * 1e3;
            tracing::warn!(
                "hook `{name}` ({source}) took {millis:.1} ms at {point}, longer than max_ms = {} (slow call {}){then}",
                limit.max_ms,
                pace.slow
            );
        }
        if let Some(world) = world.filter(|_| self.disabled && self.spec.ranks == OnRanks::All) {
            let why = format!("a call took longer than max_ms = {}", limit.max_ms);
            world.report_failed_call(&self.spec.name, call.point, call.iter, true, &why);
        }
        on_slow == OnSlow::Thin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_halved_until_it_is_very_thin() {
        let clock = Clock::new();
        let mut pace = Pace::new(None, &clock);
        assert_eq!(pace.limit, u64::MAX);
        assert!((0..3).all(|_| pace.is_due()));
        pace.thin();
        pace.thin();
        let due: Vec<_> = (0..8).map(|_| pace.is_due()).collect();
        assert_eq!(due, [false, false, false, true, false, false, false, true]);
        (0..100).for_each(|_| pace.thin());
        assert_eq!((0..THINNEST * 2).filter(|_| pace.is_due()).count(), 2);
    }

    #[test]
    fn a_limit_in_milliseconds_is_one_in_ticks() {
        let clock = Clock::new();
        let limit = TimeLimit { max_ms: 250.0, on_slow: OnSlow::Warn };
        let back = clock.delta(0, Pace::new(Some(limit), &clock).limit);
        assert!((back.as_secs_f64() - 0.25).abs() < 1e-3, "{back:?}");
    }
}
