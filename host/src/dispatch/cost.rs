//! The time of each hook at each point: always on, one read of the time stamp counter per call.

use hookrack_plugin_api::Point;
use quanta::Clock;
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// The calls of one hook at one point so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// How many calls.
    pub calls: u64,
    /// Their total time, in raw ticks.
    ticks: u64,
    /// The longest, in raw ticks.
    longest: u64,
}

impl Cost {
    /// Counts a call that took `ticks`.
    #[inline]
    pub(super) fn add(&mut self, ticks: u64) {
        self.calls += 1;
        self.ticks += ticks;
        self.longest = self.longest.max(ticks);
    }
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

    pub(super) fn push(&mut self, clock: &Clock, point: Point, cost: &Cost) {
        if cost.calls > 0 {
            let [total, longest] = [cost.ticks, cost.longest].map(|ticks| clock.delta(0, ticks));
            self.points.push((point, cost.calls, total, longest));
        }
    }
}
