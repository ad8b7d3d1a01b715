//! The table of a schedule: the actions of every stage, with the sends and receives between them.

use super::action::{Action, Message, MicroPart, Payload};
use super::layout::Layout;

/// How a schedule orders forward and backward passes: a number of forward passes first, then one backward pass after each forward pass,
/// then the remaining backward passes.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Forward passes of a stage before its first pair of forward and backward pass.
    pub(super) warm_up: fn(&Layout, u32) -> u32,
}

impl Order {
    /// Forward passes of a stage before its first pair of forward and backward pass.
    pub fn warm_up(&self, layout: &Layout, stage: u32) -> u32 {
        (self.warm_up)(layout, stage).min(layout.passes())
    }

    /// The maximum number of parts of a stage with live activations.
    pub fn peak(&self, layout: &Layout, stage: u32) -> u32 {
        layout.passes().min(self.warm_up(layout, stage) + 1)
    }
}

/// The actions of every stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    layout: Layout,
    stages: Vec<Vec<Action>>,
}

impl Table {
    /// The table of a schedule.
    pub fn new(order: Order, layout: Layout) -> Self {
        let stages = (0..layout.stages).map(|stage| actions(order, layout, stage)).collect();
        Self { layout, stages }
    }

    /// A table with given actions, for a test that changes one.
    #[cfg(test)]
    pub(super) fn of(layout: Layout, stages: Vec<Vec<Action>>) -> Self {
        Self { layout, stages }
    }

    /// Its sizes.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The actions of each stage.
    pub fn stages(&self) -> &[Vec<Action>] {
        &self.stages
    }

    /// The actions of one stage.
    pub fn into_stage(mut self, stage: u32) -> Vec<Action> {
        self.stages.swap_remove(stage as usize)
    }
}

/// The actions of one stage, without those of the others.
pub fn actions(order: Order, layout: Layout, stage: u32) -> Vec<Action> {
    let warm_up = order.warm_up(&layout, stage) as usize;
    let (mut forwards, mut backwards) = (layout.forwards(), layout.backwards());
    let mut writer = Writer { layout, stage, out: Vec::new() };
    forwards.by_ref().take(warm_up).for_each(|part| writer.forward(part));
    for (forward, backward) in forwards.zip(backwards.by_ref()) {
        writer.forward(forward);
        writer.backward(backward);
    }
    backwards.for_each(|part| writer.backward(part));
    writer.out.push(Action::Reduce);
    writer.out
}

/// Writes passes with the sends and receives around them: a receive directly before the pass that needs it, a send directly after
/// the pass that produces it.
struct Writer {
    layout: Layout,
    stage: u32,
    out: Vec<Action>,
}

impl Writer {
    fn forward(&mut self, part: MicroPart) {
        if let Some((peer, _)) = self.layout.before(self.stage, part.chunk) {
            self.out.push(Action::Recv(Message { payload: Payload::Activation, part, peer }));
        }
        self.out.push(Action::Forward(part));
        if let Some((peer, chunk)) = self.layout.after(self.stage, part.chunk) {
            let part = MicroPart { chunk, ..part };
            self.out.push(Action::Send(Message { payload: Payload::Activation, part, peer }));
        }
    }

    fn backward(&mut self, part: MicroPart) {
        let Layout { stages, tied, .. } = self.layout;
        let [before, after] =
            [self.layout.before(self.stage, part.chunk), self.layout.after(self.stage, part.chunk)];
        if let Some((peer, _)) = after {
            self.out.push(Action::Recv(Message { payload: Payload::Gradient, part, peer }));
        }
        if tied && before.is_none() && stages > 1 {
            let peer = stages - 1;
            self.out.push(Action::Recv(Message { payload: Payload::Tied, part, peer }));
        }
        self.out.push(Action::Backward(part));
        if let Some((peer, chunk)) = before {
            let part = MicroPart { chunk, ..part };
            self.out.push(Action::Send(Message { payload: Payload::Gradient, part, peer }));
        }
        if tied && after.is_none() && stages > 1 {
            let part = MicroPart { chunk: 0, ..part };
            self.out.push(Action::Send(Message { payload: Payload::Tied, part, peer: 0 }));
        }
    }
}

impl Layout {
    /// Stage and chunk of the previous layers; `None` for the first chunk, and if one stage has all layers.
    pub fn before(&self, stage: u32, chunk: u32) -> Option<(u32, u32)> {
        match (stage, chunk) {
            (0, 0) => None,
            (0, chunk) => Some((self.stages - 1, chunk - 1)),
            (stage, chunk) => Some((stage - 1, chunk)),
        }
    }

    /// Stage and chunk of the next layers.
    pub fn after(&self, stage: u32, chunk: u32) -> Option<(u32, u32)> {
        match (stage + 1 == self.stages, chunk + 1 == self.chunks) {
            (true, true) => None,
            (true, false) => Some((0, chunk + 1)),
            (false, _) => Some((stage + 1, chunk)),
        }
    }
}
