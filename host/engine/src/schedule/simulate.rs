//! Simulates a table: when each stage runs each pass, given the time of each.

use super::action::{Action, Message, MicroPart, Payload};
use super::layout::Layout;
use super::table::Table;

/// How long passes take.
#[derive(Debug, Clone, PartialEq)]
pub struct Durations {
    /// The time of a forward pass of each chunk of layers, in the order of the model.
    pub forward: Vec<f64>,
    /// The time of a backward pass.
    pub backward: Vec<f64>,
    /// The time of a message, from the end of the pass that produces it.
    pub message: f64,
}

impl Durations {
    /// Equal chunks: a forward pass takes 1, a backward pass 2, a message nothing.
    pub fn equal(layout: &Layout) -> Self {
        let chunks = (layout.stages * layout.chunks) as usize;
        Self { forward: vec![1.0; chunks], backward: vec![2.0; chunks], message: 0.0 }
    }
}

/// A pass of a stage in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Which part.
    pub part: MicroPart,
    /// Backward, not forward.
    pub is_backward: bool,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// The timeline of each stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The passes of each stage, in order.
    pub stages: Vec<Vec<Span>>,
    /// When the last pass ends.
    pub end: f64,
    /// The maximum number of parts with live activations, for each stage.
    pub peak: Vec<u32>,
}

impl Timeline {
    /// The fraction of all stages' time in which they wait: the bubble.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer stages than 2^53")]
    pub fn bubble(&self) -> f64 {
        let all = self.end * self.stages.len() as f64;
        let spans = self.stages.iter().flatten();
        let busy: f64 = spans.map(|span| span.end - span.start).sum();
        if all > 0.0 { 1.0 - busy / all } else { 0.0 }
    }
}

/// Simulates a table. `None` on a deadlock: a stage waits for a message that is never sent.
pub fn simulate(table: &Table, durations: &Durations) -> Option<Timeline> {
    let layout = table.layout();
    let mut run = Run {
        layout,
        durations,
        arrivals: vec![f64::NAN; mailboxes(&layout)],
        stages: table.stages().iter().map(|actions| Stage::new(actions)).collect(),
    };
    // Each round advances every stage as far as possible; a round without progress is a deadlock.
    while run.stages.iter().any(|stage| !stage.left.is_empty()) {
        let moved = (0..layout.stages).map(|stage| run.advance(stage)).fold(false, |a, b| a | b);
        if !moved {
            return None;
        }
    }
    let end = run.stages.iter().map(|stage| stage.clock).fold(0.0, f64::max);
    let peak = run.stages.iter().map(|stage| stage.peak).collect();
    Some(Timeline { stages: run.stages.into_iter().map(|it| it.spans).collect(), end, peak })
}

/// A slot for each message that a stage can wait for.
fn mailboxes(layout: &Layout) -> usize {
    layout.stages as usize * layout.passes() as usize * Payload::ALL.len()
}

struct Stage<'a> {
    left: &'a [Action],
    clock: f64,
    live: u32,
    peak: u32,
    spans: Vec<Span>,
}

impl<'a> Stage<'a> {
    fn new(left: &'a [Action]) -> Self {
        Self { left, clock: 0.0, live: 0, peak: 0, spans: Vec::new() }
    }
}

struct Run<'a> {
    layout: Layout,
    durations: &'a Durations,
    // When each message arrives; NaN before it is sent.
    arrivals: Vec<f64>,
    stages: Vec<Stage<'a>>,
}

impl Run<'_> {
    /// Advances a stage to its next wait; returns whether it made progress.
    fn advance(&mut self, number: u32) -> bool {
        let before = self.stages[number as usize].left.len();
        while let Some((action, left)) = self.stages[number as usize].left.split_first() {
            match *action {
                Action::Forward(part) => self.pass(number, part, false),
                Action::Backward(part) => self.pass(number, part, true),
                Action::Send(message) => {
                    let place = self.mailbox(message.peer, message);
                    let clock = self.stages[number as usize].clock;
                    self.arrivals[place] = clock + self.durations.message;
                }
                Action::Recv(message) => {
                    let arrival = self.arrivals[self.mailbox(number, message)];
                    if arrival.is_nan() {
                        break;
                    }
                    let stage = &mut self.stages[number as usize];
                    stage.clock = stage.clock.max(arrival);
                }
                Action::Reduce => {}
            }
            self.stages[number as usize].left = left;
        }
        self.stages[number as usize].left.len() < before
    }

    fn pass(&mut self, number: u32, part: MicroPart, is_backward: bool) {
        let place = (part.chunk * self.layout.stages + number) as usize;
        let Durations { forward, backward, .. } = self.durations;
        let time = if is_backward { backward[place] } else { forward[place] };
        let stage = &mut self.stages[number as usize];
        let (start, end) = (stage.clock, stage.clock + time);
        stage.clock = end;
        stage.spans.push(Span { part, is_backward, start, end });
        stage.live = if is_backward { stage.live - 1 } else { stage.live + 1 };
        stage.peak = stage.peak.max(stage.live);
    }

    fn mailbox(&self, receiver: u32, message: Message) -> usize {
        let Message { payload, part, .. } = message;
        let passes = self.layout.passes() as usize;
        let part = (part.chunk * self.layout.micros + part.micro) as usize;
        (receiver as usize * passes + part) * Payload::ALL.len() + payload as usize
    }
}
