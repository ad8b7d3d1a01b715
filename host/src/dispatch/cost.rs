//! The time of each hook at each point: always on.
//!
//! A reading of the time stamp counter takes 6 to 12 ns. Hooks whose calls take little more than that share one with their neighbours.

use super::pace::ticks;
use hookrack_plugin_api::Point;
use quanta::Clock;
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// Calls that take less on average, in milliseconds, are quick.
const QUICK_MS: f64 = 128e-6;
/// Calls over which an average is taken.
const WINDOW: u64 = 256;
/// Calls that are timed together and take as long as this many quick ones: a hook was slow, and it is not known which one.
const LONG: u64 = 1024;

/// The average time of calls, taken from time to time.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    calls: u64,
    ticks: u64,
}

impl Window {
    /// Adds calls; returns the average over the window at its end.
    #[inline]
    fn add(&mut self, calls: u64, ticks: u64, length: u64) -> Option<u64> {
        self.calls += calls;
        self.ticks += ticks;
        if self.calls < length {
            return None;
        }
        let Self { calls, ticks } = std::mem::take(self);
        Some(ticks / calls)
    }
}

/// The calls of one hook at one point so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// How many calls.
    calls: u64,
    /// The total time of those that were timed alone, in raw ticks.
    ticks: u64,
    /// The longest of these, in raw ticks.
    longest: u64,
    // Those that were timed together with others.
    together: u64,
    // The last ones that were timed alone, and how many of them must be quick on average.
    window: Window,
    needed: u64,
    is_quick: bool,
}

impl Cost {
    pub(super) fn new() -> Self {
        Self {
            calls: 0,
            ticks: 0,
            longest: 0,
            together: 0,
            window: Window::default(),
            needed: WINDOW,
            is_quick: false,
        }
    }

    /// The cost of calls that are never timed together with others.
    pub(super) fn alone() -> Self {
        Self { needed: u64::MAX, ..Self::new() }
    }

    /// Whether its calls are timed together with others.
    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Counts a call that is timed together with others.
    #[inline]
    pub(super) fn count(&mut self) {
        self.calls += 1;
        self.together += 1;
    }

    /// Counts a call that took `ticks`; `quick` is what a quick one takes at most.
    #[inline]
    pub(super) fn add(&mut self, ticks: u64, quick: u64) {
        self.calls += 1;
        self.ticks += ticks;
        self.longest = self.longest.max(ticks);
        if let Some(average) = self.window.add(1, ticks, self.needed) {
            self.is_quick = average <= quick;
        }
    }

    /// Times it alone again. After a long call for twice as long: a hook that is slow now and then is soon timed alone for good.
    fn doubt(&mut self, was_long: bool) {
        (self.window, self.is_quick) = (Window::default(), false);
        if was_long {
            self.needed = self.needed.saturating_mul(2);
        }
    }
}

/// The calls at one point that were timed together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    calls: u64,
    ticks: u64,
    window: Window,
}

impl Together {
    /// Adds calls that took `ticks`. If they are not quick any more, the hooks of the point are timed alone again.
    #[inline]
    pub(super) fn add<'a>(
        &mut self,
        calls: u64,
        ticks: u64,
        quick: u64,
        hooks: impl Iterator<Item = &'a mut Cost>,
    ) {
        self.calls += calls;
        self.ticks += ticks;
        let is_long = ticks > LONG * quick;
        let average = self.window.add(calls, ticks, WINDOW);
        if is_long || average.is_some_and(|average| average > quick) {
            hooks.for_each(|cost| cost.doubt(is_long));
        }
    }

    /// The time of this many of them: they count alike.
    #[expect(clippy::cast_possible_truncation, reason = "at most all of the ticks")]
    fn share(&self, calls: u64) -> u64 {
        let all = u128::from(self.calls.max(1));
        (u128::from(self.ticks) * u128::from(calls) / all) as u64
    }
}

/// The ticks of a quick call.
pub(super) fn quick(clock: &Clock) -> u64 {
    ticks(QUICK_MS, clock)
}

/// What one hook cost over a run.
#[derive(Clone, Debug)]
pub struct HookCost {
    /// The instance.
    pub name: String,
    /// Calls, time together and longest call, for each point at which it was called.
    pub points: Vec<(Point, u64, Duration, Duration)>,
}

impl HookCost {
    /// The total time of its calls.
    pub fn total(&self) -> Duration {
        self.points.iter().map(|(_, _, total, _)| *total).sum()
    }

    /// How often it was called.
    pub fn calls(&self) -> u64 {
        self.points.iter().map(|(_, calls, _, _)| calls).sum()
    }

    /// As a row of `run.json`.
    pub fn to_json(&self) -> Json {
        let millis = |time: &Duration| time.as_secs_f64() * 1e3;
        let points = self.points.iter().map(|(point, calls, total, longest)| {
            let spent =
                json!({ "calls": calls, "ms": millis(total), "longest_ms": millis(longest) });
            (point.name().to_owned(), spent)
        });
        let points: Map<_, _> = points.collect();
        json!({ "hook": self.name, "calls": self.calls(), "ms": millis(&self.total()), "points": points })
    }

    pub(super) fn push(&mut self, clock: &Clock, point: Point, cost: &Cost, together: &Together) {
        if cost.calls > 0 {
            let ticks = cost.ticks + together.share(cost.together);
            let [total, longest] = [ticks, cost.longest].map(|ticks| clock.delta(0, ticks));
            self.points.push((point, cost.calls, total, longest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: u64 = 100;

    fn called(cost: &mut Cost, calls: u64, ticks: u64) {
        (0..calls).for_each(|_| cost.add(ticks, QUICK));
    }

    fn quick_ones<const N: usize>() -> [Cost; N] {
        let mut cost = Cost::new();
        called(&mut cost, WINDOW, 20);
        [cost; N]
    }

    #[test]
    fn a_hook_that_is_quick_on_average_is_timed_together_with_others() {
        let mut cost = Cost::new();
        called(&mut cost, 1, 5000);
        called(&mut cost, WINDOW - 2, 20);
        assert!(!cost.is_quick());
        called(&mut cost, 1, 20);
        assert!(cost.is_quick());
        let mut never = Cost::alone();
        called(&mut never, 10 * WINDOW, 20);
        assert!(!never.is_quick());
    }

    #[test]
    fn a_hook_that_is_slow_every_twentieth_time_is_timed_alone() {
        let mut cost = Cost::new();
        for _ in 0..10_000 {
            called(&mut cost, 19, 20);
            called(&mut cost, 1, 5000);
            assert!(!cost.is_quick());
        }
        assert_eq!((cost.calls, cost.ticks), (200_000, 10_000 * (19 * 20 + 5000)));
    }

    #[test]
    fn hooks_that_become_slow_are_timed_alone_again() {
        let (mut costs, mut together) = (quick_ones::<4>(), Together::default());
        for _ in 0..WINDOW {
            together.add(4, 4 * 20, QUICK, costs.iter_mut());
        }
        // A disturbance of the machine.
        together.add(4, 100 * QUICK, QUICK, costs.iter_mut());
        assert!(costs.iter().all(Cost::is_quick));
        for _ in 0..WINDOW {
            together.add(4, 4 * 500, QUICK, costs.iter_mut());
        }
        assert!(!costs.iter().any(Cost::is_quick));
        called(&mut costs[0], WINDOW, 20);
        assert!(costs[0].is_quick());
    }

    #[test]
    fn a_hook_with_a_long_call_now_and_then_is_soon_timed_alone_for_good() {
        let ([mut slow], mut together) = (quick_ones::<1>(), Together::default());
        let mut unknown = 0;
        for iter in 1..100_000 {
            let ticks = if iter % 5000 == 0 { 1_000_000 } else { 20 };
            if slow.is_quick() {
                unknown += u64::from(ticks > QUICK);
                together.add(1, ticks, QUICK, std::iter::once(&mut slow));
            } else {
                slow.add(ticks, QUICK);
            }
        }
        assert!((1..=6).contains(&unknown), "{unknown} of 19 long calls");
    }

    #[test]
    fn the_time_of_calls_together_is_divided_by_their_number() {
        let (clock, mut together) = (Clock::new(), Together::default());
        let mut cost = Cost::new();
        called(&mut cost, 2, 30);
        (0..2).for_each(|_| cost.count());
        together.add(8, 400, QUICK, std::iter::empty());
        let mut row = HookCost { name: "hook".into(), points: Vec::new() };
        row.push(&clock, Point::AfterTrainIter, &cost, &together);
        let [total, longest] = [2 * 30 + 400 / 4, 30].map(|ticks| clock.delta(0, ticks));
        assert_eq!(row.points, [(Point::AfterTrainIter, 4, total, longest)]);
    }
}
