//! The live hooks of a run, and the one function through which all of them are called.

use super::cost::{self, Cost, Doubt, HookCost, SharedTiming};
use super::failure::{FailureKind, HookError};
use super::hook_spec::HookSpec;
use super::pace::{Pace, SlowCall};
use super::plan::Plan;
use crate::first_failure::first_failure;
use crate::plugins::{ForwardHolder, Instance};
use crate::progress::{Progress, SharedProgress};
use crate::torch::profiler;
use crate::world::World;
use hookrack_plugin_api::abi::HrStatus;
use hookrack_plugin_api::{OnRanks, Point};
use quanta::Clock;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// A hook of a run.
pub struct Attached {
    /// Its configuration and points.
    pub spec: HookSpec,
    /// The live instance.
    pub instance: Instance,
    /// Whether it was disabled after a failure.
    pub disabled: bool,
}

/// One call of the table: kept flat and small, so that firing a point walks over adjacent entries.
struct Entry {
    hook: u32,
    called_as: Point,
    filtered: bool,
    // Whether its calls are timed together with others, and how many such calls there were.
    is_quick: bool,
    quick_calls: u64,
}

/// How long the calls of an entry took, and may take.
struct Timing {
    pace: Pace,
    cost: Cost,
}

/// When the clock was last read, and the calls since then.
struct Stopwatch {
    before: u64,
    waiting: u64,
    is_traced: bool,
}

/// The hooks of a run and the table by which they are called.
pub struct Rack {
    hooks: Vec<Attached>,
    entries: Vec<Entry>,
    // One for each entry.
    timings: Vec<Timing>,
    // Where a point's entries begin; the next point's begin where they end.
    starts: [u32; Point::COUNT + 1],
    progress: Rc<SharedProgress>,
    // Notified of hooks that failed.
    world: Option<Rc<World>>,
    clock: Clock,
    // The ticks of a quick call, and the calls of each point that were timed together.
    quick: u64,
    together: [SharedTiming; Point::COUNT],
}

impl Rack {
    /// A rack of hooks, ordered by a plan made from their specs.
    pub fn new(hooks: Vec<Attached>, plan: &Plan, progress: Rc<SharedProgress>) -> Self {
        let (mut entries, mut timings) = (Vec::new(), Vec::new());
        let mut starts = [0; Point::COUNT + 1];
        let clock = Clock::new();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        for &point in Point::ALL {
            for &hook in plan.at(point) {
                let HookSpec { when, time_limit, .. } = &hooks[hook].spec;
                let is_always = when.is_always();
                entries.push(Entry {
                    hook: number(hook),
                    called_as: plan.called_as(point),
                    filtered: !is_always,
                    is_quick: false,
                    quick_calls: 0,
                });
                // A call that is made now and then, or must not take long, is timed alone.
                let is_alone = !is_always || time_limit.is_some();
                timings.push(Timing {
                    pace: Pace::new(*time_limit, &clock),
                    cost: if is_alone { Cost::alone() } else { Cost::new() },
                });
            }
            starts[point.code() as usize + 1] = number(entries.len());
        }
        let (quick, together) = (cost::quick(&clock), [SharedTiming::default(); Point::COUNT]);
        Self { hooks, entries, timings, starts, progress, world: None, clock, quick, together }
    }

    /// Reports failed hooks to the other ranks from now on.
    pub fn report_to(&mut self, world: Rc<World>) {
        self.world = Some(world);
    }

    /// The hook in the training forward role, for other hooks to run it.
    pub fn forward_role(&self) -> Option<ForwardHolder> {
        let entry = self.entries[self.at(Point::OnTrainForward)].first()?;
        let Attached { spec, instance, .. } = &self.hooks[entry.hook as usize];
        let is_default = spec.is_default && spec.library.is_none();
        Some(ForwardHolder::new(instance, &spec.name, spec.source(), is_default, entry.called_as))
    }

    /// The hooks, in the order in which they were given.
    pub fn hooks(&self) -> &[Attached] {
        &self.hooks
    }

    /// Stops calling a hook that has failed on another rank.
    pub fn disable(&mut self, name: &str, rank: usize) {
        let named = self.hooks.iter_mut().find(|it| it.spec.name == name && !it.disabled);
        if let Some(hook) = named {
            hook.disabled = true;
            tracing::warn!("hook `{name}` has failed on rank {rank}: it is disabled here too");
        }
    }

    /// The hooks, to restore their state.
    pub fn hooks_mut(&mut self) -> &mut [Attached] {
        &mut self.hooks
    }

    /// Calls every hook of a point. The first failure under `abort` ends the walk.
    #[inline]
    pub fn fire(&mut self, point: Point) -> Result<(), HookError> {
        let entries = self.at(point);
        if entries.is_empty() { Ok(()) } else { self.walk(point, entries) }
    }

    /// Calls every hook of a point, even if some fail; returns the first failure. For the end of a run.
    pub fn fire_isolated(&mut self, point: Point) -> Result<(), HookError> {
        self.walk_timed(point, self.at(point), true)
    }

    /// Calls every hook of a point once and returns every failure, whatever the policies. For a trial without a run.
    pub fn fire_each(&mut self, point: Point) -> Vec<HookError> {
        let mut failures = Vec::new();
        for entry in &self.entries[self.at(point)] {
            let attached = &mut self.hooks[entry.hook as usize];
            if attached.disabled {
                continue;
            }
            let status = attached.instance.on_point(entry.called_as);
            if status != HrStatus::OK {
                attached.disabled = true;
                failures.push(attached.error(point, status, &self.progress.get()));
            }
        }
        failures
    }

    fn walk(&mut self, point: Point, entries: Range<usize>) -> Result<(), HookError> {
        if profiler::is_active() {
            return self.walk_in_ranges(point, entries);
        }
        if self.together[point.code() as usize].is_due() || is_traced() {
            return self.walk_timed(point, entries, false);
        }
        // All of them are quick, and such hooks are called at every one of their points.
        for index in entries {
            let entry = &mut self.entries[index];
            let Attached { instance, disabled, .. } = &mut self.hooks[entry.hook as usize];
            if *disabled {
                continue;
            }
            entry.quick_calls += 1;
            let status = instance.on_point(entry.called_as);
            if status != HrStatus::OK {
                self.failed(index, point, status)?;
            }
        }
        Ok(())
    }

    fn walk_timed(
        &mut self,
        point: Point,
        entries: Range<usize>,
        isolated: bool,
    ) -> Result<(), HookError> {
        let mut failure = Ok(());
        let mut watch = Stopwatch { before: self.clock.raw(), waiting: 0, is_traced: is_traced() };
        for index in entries {
            if !self.is_due(index, point) {
                continue;
            }
            let status = self.call(index, point, &mut watch);
            if status != HrStatus::OK {
                let outcome = self.failed(index, point, status);
                if isolated {
                    failure = first_failure(failure, outcome);
                } else {
                    outcome?;
                }
            }
        }
        self.time_waiting(point, &mut watch);
        self.skip_timing(point);
        failure
    }

    #[cold]
    fn failed(&mut self, index: usize, point: Point, status: HrStatus) -> Result<(), HookError> {
        let attached = &mut self.hooks[self.entries[index].hook as usize];
        attached.failed(point, status, &self.progress.get(), self.world.as_deref())
    }

    #[inline]
    fn is_due(&mut self, index: usize, point: Point) -> bool {
        let entry = &self.entries[index];
        let Attached { spec, disabled, .. } = &self.hooks[entry.hook as usize];
        let is_allowed = || spec.when.allows(point, &self.progress.get());
        !disabled && (!entry.filtered || is_allowed() && self.timings[index].pace.is_due())
    }

    /// Calls a hook, and times it: alone, or together with its neighbors if they are quick too.
    #[inline]
    fn call(&mut self, index: usize, point: Point, watch: &mut Stopwatch) -> HrStatus {
        let entry = &mut self.entries[index];
        if !entry.is_quick || watch.is_traced {
            return self.call_alone(index, point, watch);
        }
        entry.quick_calls += 1;
        watch.waiting += 1;
        self.hooks[entry.hook as usize].instance.on_point(entry.called_as)
    }

    #[inline]
    fn call_alone(&mut self, index: usize, point: Point, watch: &mut Stopwatch) -> HrStatus {
        self.time_waiting(point, watch);
        let (entry, timing) = (&mut self.entries[index], &mut self.timings[index]);
        let attached = &mut self.hooks[entry.hook as usize];
        let status = attached.instance.on_point(entry.called_as);
        let (before, now) = (watch.before, self.clock.raw());
        watch.before = now;
        let ticks = now.wrapping_sub(before);
        entry.is_quick = timing.cost.add(ticks, self.quick).unwrap_or(entry.is_quick);
        if ticks > timing.pace.limit {
            let (spent, iter) = (self.clock.delta(before, now), self.progress.get().iter);
            let slow = SlowCall { point, spent, iter };
            entry.filtered |= attached.was_slow(&slow, &mut timing.pace, self.world.as_deref());
        }
        if watch.is_traced {
            let spent = self.clock.delta(before, now);
            trace(&attached.spec.name, point, spent, &self.progress.get());
        }
        status
    }

    /// Times the calls that wait for a reading of the clock.
    #[inline]
    fn time_waiting(&mut self, point: Point, watch: &mut Stopwatch) {
        if watch.waiting == 0 {
            return;
        }
        let (before, now) = (watch.before, self.clock.raw());
        let calls = std::mem::take(&mut watch.waiting);
        watch.before = now;
        let timing = &mut self.together[point.code() as usize];
        if let Some(doubt) = timing.add(calls, now.wrapping_sub(before), self.quick) {
            self.doubt(point, doubt);
        }
    }

    /// Times the hooks of a point alone again.
    #[cold]
    fn doubt(&mut self, point: Point, doubt: Doubt) {
        for index in self.at(point) {
            if std::mem::take(&mut self.entries[index].is_quick) {
                self.timings[index].cost.doubt(doubt);
            }
        }
    }

    /// Leaves the next walks over a point without timing if all of its hooks are quick.
    #[inline]
    fn skip_timing(&mut self, point: Point) {
        let is_quick = |entry: &Entry| entry.is_quick || self.hooks[entry.hook as usize].disabled;
        if self.entries[self.at(point)].iter().all(is_quick) {
            self.together[point.code() as usize].skip();
        }
    }

    /// Where the entries of a point are.
    #[inline]
    fn at(&self, point: Point) -> Range<usize> {
        let code = point.code() as usize;
        self.starts[code] as usize..self.starts[code + 1] as usize
    }

    /// As `walk_timed`, with a profiler range for each hook and one for the point.
    #[cold]
    fn walk_in_ranges(&mut self, point: Point, entries: Range<usize>) -> Result<(), HookError> {
        let _point = profiler::Range::begin(point.name());
        for entry in entries {
            let hook = &self.hooks[self.entries[entry].hook as usize].spec.name;
            let _hook = profiler::Range::begin(&format!("{hook}: {point}"));
            self.walk_timed(point, entry..entry + 1, false)?;
        }
        Ok(())
    }

    /// The cost of each hook so far, most expensive first.
    pub fn costs(&self) -> Vec<HookCost> {
        let mut costs: Vec<_> = self
            .hooks
            .iter()
            .map(|h| HookCost { name: h.spec.name.clone(), points: Vec::new() })
            .collect();
        for &point in Point::ALL {
            let together = &self.together[point.code() as usize];
            for index in self.at(point) {
                let (entry, Timing { cost, .. }) = (&self.entries[index], &self.timings[index]);
                let hook = &mut costs[entry.hook as usize];
                hook.push(&self.clock, point, cost, entry.quick_calls, together);
            }
        }
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.total()));
        costs
    }
}

#[inline]
fn is_traced() -> bool {
    tracing::enabled!(tracing::Level::TRACE)
}

#[cold]
fn trace(hook: &str, point: Point, spent: Duration, progress: &Progress) {
    tracing::trace!("iter {}: {hook} at {point}, {spent:?}", progress.iter);
}

impl Attached {
    fn error(&self, point: Point, status: HrStatus, progress: &Progress) -> HookError {
        let kind = if status == HrStatus::PANIC { FailureKind::Panic } else { FailureKind::Error };
        HookError {
            hook: self.spec.name.clone(),
            source_name: self.spec.source(),
            point,
            epoch: progress.epoch,
            iter: progress.iter,
            kind,
            message: self.instance.take_error(),
        }
    }

    /// Applies the hook's error policy: an error to pass on under `abort`, a log line otherwise, and a message to other ranks.
    #[cold]
    fn failed(
        &mut self,
        point: Point,
        status: HrStatus,
        progress: &Progress,
        world: Option<&World>,
    ) -> Result<(), HookError> {
        let error = self.error(point, status, progress);
        let kind = error.kind;
        // A role has no substitute.
        let error = self.apply_policy(error, kind, point.is_role(), "")?;
        if let Some(world) = world.filter(|_| self.spec.ranks == OnRanks::All) {
            let HookError { hook, iter, message, .. } = &error;
            world.report_failed_call(hook, point, *iter, self.disabled, message);
        }
        Ok(())
    }
}
