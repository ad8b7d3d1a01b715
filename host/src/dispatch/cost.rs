//! The time of each hook at each point: always on.
//!
//! A reading of the time stamp counter takes 6 to 12 ns. Hooks whose calls take little more than that share one with their neighbors, and where all hooks
//! of a point are such, only some walks are timed.

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
/// Where all hooks of a point are quick, this many walks are not timed after each one that is, and up to 15 more at random: whatever the
/// period of a hook that is slow now and then, it is seen.
const SKIPPED: u32 = 16;

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

/// The calls of one hook at one point that were timed alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// How many calls.
    calls: u64,
    /// Their total time, in raw ticks.
    ticks: u64,
    /// The longest of them, in raw ticks.
    longest: u64,
    // The last ones, and how many of them must be quick on average.
    window: Window,
    needed: u64,
}

impl Cost {
    pub(super) fn new() -> Self {
        Self { calls: 0, ticks: 0, longest: 0, window: Window::default(), needed: WINDOW }
    }

    /// The cost of calls that are never timed together with others.
    pub(super) fn alone() -> Self {
        Self { needed: u64::MAX, ..Self::new() }
    }

    /// Counts a call that took `ticks`; `quick` is what a quick one takes at most. At the end of a window, returns whether the hook is quick.
    #[inline]
    pub(super) fn add(&mut self, ticks: u64, quick: u64) -> Option<bool> {
        self.calls += 1;
        self.ticks += ticks;
        self.longest = self.longest.max(ticks);
        self.window.add(1, ticks, self.needed).map(|average| average <= quick)
    }

    /// Times it alone again. After a long call, of which `share` is its part, for twice as long: a hook that is slow now and then is soon timed
    /// alone for good.
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        self.window = Window::default();
        if let Doubt::Long { share, is_own } = doubt {
            self.needed = self.needed.saturating_mul(2);
            self.ticks += share;
            self.longest = if is_own { self.longest.max(share) } else { self.longest };
        }
    }
}

/// Why hooks that were quick are timed alone again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// They are not quick on average.
    Average,
    /// One of them was slow: the part of each in its ticks, and whether there was only one.
    Long { share: u64, is_own: bool },
}

/// The timing of quick hooks at one point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedTiming {
    calls: u64,
    ticks: u64,
    window: Window,
    // Walks that are not timed before the next one that is.
    skip: u32,
    // Of the random numbers by which that varies.
    seed: u32,
}

impl SharedTiming {
    /// Whether the walk that begins is timed.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        is_due
    }

    /// All hooks of the point are quick: the next walks are not timed.
    #[inline]
    pub(super) fn skip(&mut self) {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.skip = SKIPPED + (self.seed >> 28);
    }

    /// Adds calls that took `ticks`; returns why hooks should be timed alone again, if they should.
    #[inline]
    pub(super) fn add(&mut self, calls: u64, ticks: u64, quick: u64) -> Option<Doubt> {
        if ticks > LONG * quick {
            // Not part of the average by which the time of walks that are not timed is estimated.
            return Some(Doubt::Long { share: ticks / calls.max(1), is_own: calls == 1 });
        }
        self.calls += calls;
        self.ticks += ticks;
        let average = self.window.add(calls, ticks, WINDOW);
        average.is_some_and(|average| average > quick).then_some(Doubt::Average)
    }

    /// The time of this many quick calls: all of the point count alike.
    #[expect(clippy::cast_possible_truncation, reason = "no run has that many ticks")]
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

    pub(super) fn push(
        &mut self,
        clock: &Clock,
        point: Point,
        cost: &Cost,
        quick_calls: u64,
        together: &SharedTiming,
    ) {
        let calls = cost.calls + quick_calls;
        if calls > 0 {
            let ticks = cost.ticks + together.share(quick_calls);
            let [total, longest] = [ticks, cost.longest].map(|ticks| clock.delta(0, ticks));
            self.points.push((point, calls, total, longest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: u64 = 100;

    /// Calls a hook that takes `ticks`, and returns whether it is quick after the last window.
    fn called(cost: &mut Cost, calls: u64, ticks: u64) -> bool {
        let verdicts = (0..calls).filter_map(|_| cost.add(ticks, QUICK));
        verdicts.last().unwrap_or(false)
    }

    #[test]
    fn a_hook_that_is_quick_on_average_is_timed_together_with_others() {
        let mut cost = Cost::new();
        assert!(!called(&mut cost, 1, 5000));
        assert!(!called(&mut cost, WINDOW - 2, 20));
        assert!(called(&mut cost, 1, 20));
        let mut never = Cost::alone();
        assert!(!called(&mut never, 10 * WINDOW, 20));
    }

    #[test]
    fn a_hook_that_is_slow_every_twentieth_time_is_timed_alone() {
        let mut cost = Cost::new();
        for _ in 0..10_000 {
            assert!(!called(&mut cost, 19, 20));
            assert!(!called(&mut cost, 1, 5000));
        }
        assert_eq!((cost.calls, cost.ticks), (200_000, 10_000 * (19 * 20 + 5000)));
    }

    #[test]
    fn hooks_that_become_slow_are_timed_alone_again() {
        let mut together = SharedTiming::default();
        assert!((0..WINDOW).all(|_| together.add(4, 4 * 20, QUICK).is_none()));
        // A disturbance of the machine.
        assert_eq!(together.add(4, 100 * QUICK, QUICK), None);
        let doubt = (0..WINDOW).find_map(|_| together.add(4, 4 * 500, QUICK));
        assert_eq!(doubt, Some(Doubt::Average));
        let mut cost = Cost::new();
        cost.doubt(Doubt::Average);
        assert!(called(&mut cost, WINDOW, 20));
    }

    #[test]
    fn a_long_call_of_a_hook_alone_is_its_own_and_one_among_others_is_shared() {
        let (mut together, long) = (SharedTiming::default(), LONG * QUICK + 4);
        let doubt = together.add(1, long, QUICK).unwrap();
        let mut cost = Cost::new();
        cost.doubt(doubt);
        assert_eq!((cost.ticks, cost.longest), (long, long));
        let doubt = together.add(4, long, QUICK).unwrap();
        cost.doubt(doubt);
        assert_eq!((cost.ticks, cost.longest), (long + long / 4, long));
        assert_eq!(together.calls, 0, "the average is of quick calls only");
    }

    /// Slow calls that were not timed, of a hook that is slow every `period` calls.
    fn unseen(period: u32) -> u32 {
        let (mut cost, mut together) = (Cost::new(), SharedTiming::default());
        let (mut is_quick, mut unseen) = (false, 0);
        for call in 1..1_000_000 {
            let ticks = if call % period == 0 { 10_000_000 } else { 20 };
            if !is_quick {
                is_quick = cost.add(ticks, QUICK).unwrap_or(false);
            } else if together.is_due() {
                let doubt = together.add(1, ticks, QUICK);
                doubt.inspect(|&doubt| cost.doubt(doubt));
                is_quick = doubt.is_none();
                if is_quick {
                    together.skip();
                }
            } else {
                unseen += u32::from(ticks > QUICK);
            }
        }
        unseen
    }

    #[test]
    fn a_hook_with_a_long_call_now_and_then_is_soon_timed_alone_for_good() {
        // One call of this many is timed.
        let stride = f64::from(SKIPPED) + 7.5 + 1.0;
        for period in [500, 512, 550, 1000, 1024, 5000] {
            // The window doubles with each slow call that is seen, until it is longer than the period.
            let doublings = f64::from(period / 128).log2().ceil();
            let unseen = f64::from(unseen(period));
            let most = 3.0 * stride * doublings;
            assert!(unseen <= most, "{unseen} of every {period}th call");
        }
    }

    #[test]
    fn the_time_of_quick_calls_is_estimated_from_those_that_were_timed() {
        let (clock, mut together) = (Clock::new(), SharedTiming::default());
        let mut cost = Cost::new();
        called(&mut cost, 2, 30);
        assert_eq!(together.add(8, 400, QUICK), None);
        let mut row = HookCost { name: "hook".into(), points: Vec::new() };
        row.push(&clock, Point::AfterTrainIter, &cost, 22, &together);
        let [total, longest] = [2 * 30 + 22 * 50, 30].map(|ticks| clock.delta(0, ticks));
        assert_eq!(row.points, [(Point::AfterTrainIter, 24, total, longest)]);
    }
}
