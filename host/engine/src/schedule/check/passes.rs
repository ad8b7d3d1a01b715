//! Checks that every micro-batch passes every chunk of a stage once in each direction, after its inputs, in micro-batch order.

use super::ScheduleError;
use crate::schedule::action::{Action, Message, MicroPart, Payload};
use crate::schedule::layout::Layout;

/// The progress of each part of a stage.
pub(super) struct Passes {
    layout: Layout,
    stage: u32,
    // By chunk and micro-batch: flags of what was done.
    done: Vec<u8>,
    // The next backward pass of each chunk.
    next: Vec<u32>,
    live: u32,
    peak: u32,
}

const INPUT: u8 = 1;
const FORWARD: u8 = 2;
const OUTPUT: u8 = 4;
const GRADIENT: u8 = 8;
const TIED: u8 = 16;
const BACKWARD: u8 = 32;

impl Passes {
    /// Walks the actions of a stage, and returns the maximum number of live parts.
    pub(super) fn check(
        layout: Layout,
        stage: u32,
        actions: &[Action],
    ) -> Result<u32, ScheduleError> {
        let done = vec![0; layout.passes() as usize];
        let next = vec![0; layout.chunks as usize];
        let mut passes = Self { layout, stage, done, next, live: 0, peak: 0 };
        let (last, before) = actions.split_last().unwrap_or((&Action::Reduce, &[]));
        for action in before {
            passes.step(*action).map_err(|why| passes.misplaced(*action, why))?;
        }
        if *last != Action::Reduce || actions.is_empty() {
            return Err(passes.misplaced(*last, "is the last action, which must be the reduction"));
        }
        passes.finish()
    }

    fn misplaced(&self, action: Action, why: &'static str) -> ScheduleError {
        ScheduleError::Misplaced { stage: self.stage, action, why }
    }

    fn step(&mut self, action: Action) -> Result<(), &'static str> {
        let Layout { stages, tied, .. } = self.layout;
        let is_tied = |is_end: bool| tied && stages > 1 && is_end;
        match action {
            Action::Reduce => Err("must be the last action"),
            Action::Forward(part) => {
                let is_first = self.before(part).is_none();
                self.need(part, if is_first { 0 } else { INPUT }, "comes before its input")?;
                self.mark(part, FORWARD)?;
                self.live += 1;
                self.peak = self.peak.max(self.live);
                Ok(())
            }
            Action::Backward(part) => {
                let (before, after) = (self.before(part), self.after(part));
                self.need(part, FORWARD, "comes before the forward pass")?;
                let awaited = if after.is_none() { 0 } else { GRADIENT };
                let tied = if is_tied(before.is_none()) { TIED } else { 0 };
                self.need(part, awaited | tied, "comes before its gradient")?;
                self.mark(part, BACKWARD)?;
                self.live -= 1;
                let next = &mut self.next[part.chunk as usize];
                let is_in_order = *next == part.micro;
                *next += 1;
                if is_in_order { Ok(()) } else { Err("is not in micro-batch order") }
            }
            Action::Recv(Message { payload, part, peer }) => {
                let (from, bit) = match payload {
                    Payload::Activation => (self.before(part), INPUT),
                    Payload::Gradient => (self.after(part), GRADIENT),
                    Payload::Tied => {
                        let is_first = self.before(part).is_none();
                        (is_tied(is_first).then_some((stages - 1, 0)), TIED)
                    }
                };
                if from.map(|(stage, _)| stage) != Some(peer) {
                    return Err("is not from an adjacent stage");
                }
                self.mark(part, bit)
            }
            Action::Send(message) => self.send(message, is_tied(true)),
        }
    }

    /// A send follows the pass that produces the tensor; the message names the receiver's part.
    fn send(&mut self, message: Message, is_tied: bool) -> Result<(), &'static str> {
        let Message { payload, part, peer } = message;
        let origin = match payload {
            Payload::Activation => self.layout.before(peer, part.chunk),
            Payload::Gradient => self.layout.after(peer, part.chunk),
            Payload::Tied if is_tied && peer == 0 && part.chunk == 0 => {
                Some((self.layout.stages - 1, self.layout.chunks - 1))
            }
            Payload::Tied => None,
        };
        let is_own = |(stage, _): &(u32, u32)| *stage == self.stage && peer < self.layout.stages;
        let Some((_, chunk)) = origin.filter(is_own) else {
            return Err("is not to an adjacent stage");
        };
        let own = MicroPart { chunk, ..part };
        match payload {
            Payload::Activation => {
                self.need(own, FORWARD, "comes before the forward pass")?;
                self.mark(own, OUTPUT)
            }
            Payload::Gradient | Payload::Tied => {
                self.need(own, BACKWARD, "comes before the backward pass")
            }
        }
    }

    fn before(&self, part: MicroPart) -> Option<(u32, u32)> {
        self.layout.before(self.stage, part.chunk)
    }

    fn after(&self, part: MicroPart) -> Option<(u32, u32)> {
        self.layout.after(self.stage, part.chunk)
    }

    fn bits(&mut self, part: MicroPart) -> Result<&mut u8, &'static str> {
        let Layout { micros, chunks, .. } = self.layout;
        if part.micro >= micros || part.chunk >= chunks {
            return Err("does not exist in this layout");
        }
        Ok(&mut self.done[(part.chunk * micros + part.micro) as usize])
    }

    fn need(&mut self, part: MicroPart, bits: u8, why: &'static str) -> Result<(), &'static str> {
        if *self.bits(part)? & bits == bits { Ok(()) } else { Err(why) }
    }

    fn mark(&mut self, part: MicroPart, bit: u8) -> Result<(), &'static str> {
        let bits = self.bits(part)?;
        let is_new = *bits & bit == 0;
        *bits |= bit;
        if is_new { Ok(()) } else { Err("occurs twice") }
    }

    fn finish(self) -> Result<u32, ScheduleError> {
        let Layout { micros, .. } = self.layout;
        for (index, bits) in (0..).zip(&self.done) {
            let part = MicroPart { micro: index % micros, chunk: index / micros };
            let pass = if bits & FORWARD == 0 { "forward" } else { "backward" };
            if bits & BACKWARD == 0 {
                return Err(ScheduleError::Missing { stage: self.stage, part, pass });
            }
        }
        Ok(self.peak)
    }
}
