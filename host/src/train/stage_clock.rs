//! Measures when the stages of a pipeline run their passes, to compare a run with its plan.

use super::fit::Trainer;
use crate::engine::schedule::{Action, Durations, MicroPart, Span, Table, Timeline, simulate};
use crate::process_memory::ProcessMemory;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Iterations that are not counted, because they allocate memory.
const WARM_UP: u64 = 3;

/// The times of this stage. All ranks synchronize before an iteration, so the clocks of stages start at about the same time.
#[derive(Default)]
pub(super) struct StageClock {
    // Start of the iteration, and of the pass in progress.
    began: Option<Instant>,
    pass: Option<Instant>,
    spans: Vec<Span>,
    counted: Counted,
}

/// What a stage sends to the main rank.
#[derive(Default, Serialize, Deserialize)]
struct Counted {
    iters: u64,
    // Seconds in passes, and from the start of each iteration to the end of its last pass.
    busy: f64,
    total: f64,
    // Seconds of the forward and backward passes of each chunk.
    passes: Vec<[f64; 2]>,
    // Bytes, at the end of the run.
    peak_memory: u64,
    // The passes of the last iteration: micro-batch, chunk, whether backward, start, end.
    last: Vec<(u32, u32, bool, f64, f64)>,
}

/// The measured times of a pipeline.
pub struct Measured {
    /// The share of time in which stages waited for each other, over all iterations except the first few.
    pub bubble: f64,
    /// That share for the schedule, with the mean times of each stage's passes and messages that take no time.
    pub planned_bubble: f64,
    /// The largest memory of each stage's process, in bytes.
    pub peak_memory: Vec<u64>,
    /// The last iteration.
    pub timeline: Timeline,
    /// Chunks of each stage.
    pub chunks: u32,
}

impl StageClock {
    /// Starts the clock of an iteration.
    pub(super) fn begin(&mut self) {
        self.began = Some(Instant::now());
        self.spans.clear();
    }

    pub(super) fn begin_action(&mut self) {
        self.pass = Some(Instant::now());
    }

    /// Records an action if it is a pass.
    pub(super) fn end_action(&mut self, action: Action) {
        let (Some(began), Some(pass)) = (self.began, self.pass) else { return };
        let (part, is_backward) = match action {
            Action::Forward(part) => (part, false),
            Action::Backward(part) => (part, true),
            Action::Reduce => return self.end(),
            Action::Send(_) | Action::Recv(_) => return,
        };
        let start = pass.duration_since(began).as_secs_f64();
        self.spans.push(Span { part, is_backward, start, end: began.elapsed().as_secs_f64() });
    }

    fn end(&mut self) {
        let Counted { iters, busy, total, passes, last, .. } = &mut self.counted;
        *iters += 1;
        if *iters > WARM_UP {
            *busy += self.spans.iter().map(|span| span.end - span.start).sum::<f64>();
            *total += self.spans.last().map_or(0.0, |span| span.end);
            for span in &self.spans {
                let chunk = span.part.chunk as usize;
                passes.resize(passes.len().max(chunk + 1), [0.0; 2]);
                passes[chunk][usize::from(span.is_backward)] += span.end - span.start;
            }
        }
        last.clear();
        last.extend(self.spans.iter().map(|span| {
            (span.part.micro, span.part.chunk, span.is_backward, span.start, span.end)
        }));
    }
}

impl Trainer {
    /// Gathers the times of all stages of the first pipeline. A collective: every rank calls it, at the end of a successful run.
    pub(super) fn gather_times(&mut self) {
        let Some(world) = self.context.world.get() else { return };
        let stage = self.context.engine.borrow().stage().cloned();
        let Some(stage) = stage else { return };
        self.clock.counted.peak_memory = ProcessMemory::read().unwrap_or_default().peak;
        let mut stages: Vec<Counted> = world.exchange_json(&self.clock.counted).unwrap_or_default();
        stages.truncate(stage.layout.stages as usize);
        let order = self.context.engine.borrow().schedule().order();
        self.results.measured = measured(&stages, &Table::new(order, stage.layout));
    }

    /// The times of the pipeline after a successful run; `None` without a pipeline.
    pub fn measured_pipeline(&self) -> Option<&Measured> {
        self.results.measured.as_ref()
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are far fewer stages than 2^53")]
fn measured(stages: &[Counted], table: &Table) -> Option<Measured> {
    let busy: f64 = stages.iter().map(|stage| stage.busy).sum();
    let longest = stages.iter().map(|stage| stage.total).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let spans =
        |stage: &Counted| -> Vec<Span> {
            let span = |&(micro, chunk, is_backward, start, end): &(u32, u32, bool, f64, f64)| {
                Span { part: MicroPart { micro, chunk }, is_backward, start, end }
            };
            stage.last.iter().map(span).collect()
        };
    let spans: Vec<_> = stages.iter().map(spans).collect();
    let end = spans.iter().flatten().map(|span| span.end).fold(0.0, f64::max);
    let peak = spans.iter().map(|spans| peak(spans)).collect();
    let bubble = 1.0 - busy / (longest * stages.len() as f64);
    Some(Measured {
        bubble,
        planned_bubble: planned(stages, table),
        peak_memory: stages.iter().map(|stage| stage.peak_memory).collect(),
        timeline: Timeline { stages: spans, end, peak },
        chunks: table.layout().chunks,
    })
}

/// The bubble of a table whose passes take their mean times.
fn planned(stages: &[Counted], table: &Table) -> f64 {
    let layout = table.layout();
    // Each chunk has as many passes as the others: sums have the proportions of means.
    let time = |direction: usize| {
        let places =
            (0..layout.chunks as usize).flat_map(|chunk| stages.iter().map(move |it| (chunk, it)));
        let times =
            places.map(|(chunk, stage)| stage.passes.get(chunk).map_or(0.0, |it| it[direction]));
        times.collect::<Vec<_>>()
    };
    let durations = Durations { forward: time(0), backward: time(1), message: 0.0 };
    simulate(table, &durations).map_or(0.0, |timeline| timeline.bubble())
}

/// The largest number of parts between their passes.
fn peak(spans: &[Span]) -> u32 {
    let (mut live, mut most) = (0_u32, 0);
    for span in spans {
        live = if span.is_backward { live.saturating_sub(1) } else { live + 1 };
        most = most.max(live);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::schedule::{Layout, OneFOneB};

    fn table(stages: u32, micros: u32) -> Table {
        Table::new(OneFOneB::ORDER, Layout { stages, micros, chunks: 1, tied: false })
    }

    #[test]
    fn the_bubble_is_the_share_of_time_without_a_pass_after_the_first_iterations() {
        let stage =
            |busy, total, last| Counted { iters: 9, busy, total, last, ..Counted::default() };
        let first = vec![(0, 0, false, 0.0, 1.0), (1, 0, false, 1.0, 2.0), (0, 0, true, 3.0, 4.0)];
        let stages = [stage(3.0, 4.0, first), stage(3.0, 3.0, Vec::new())];
        let found = measured(&stages, &table(2, 2)).unwrap();
        assert!((found.bubble - 0.25).abs() < 1e-9, "{}", found.bubble);
        assert_eq!(found.timeline.peak, [2, 0]);
        assert!((found.timeline.end - 4.0).abs() < 1e-9);
        assert!(measured(&[], &table(2, 2)).is_none());
    }

    #[test]
    fn the_planned_bubble_is_that_of_the_schedule_with_the_times_of_the_passes() {
        let stage =
            |forward, backward| Counted { passes: vec![[forward, backward]], ..Counted::default() };
        let equal = [stage(3.0, 6.0), stage(3.0, 6.0)];
        assert!((planned(&equal, &table(2, 8)) - 1.0 / 9.0).abs() < 1e-9);
        // The first stage takes half the time of the second one, and waits for it.
        let slow = planned(&[stage(1.0, 2.0), stage(2.0, 4.0)], &table(2, 8));
        assert!(slow > 0.25, "{slow}");
    }
}
