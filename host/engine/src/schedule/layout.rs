//! How many stages, micro-batches and chunks there are, and which micro-batch comes when.

use super::action::MicroPart;

/// The sizes of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Stages, each on its own rank.
    pub stages: u32,
    /// Micro-batches of an iteration.
    pub micros: u32,
    /// Chunks of layers on each stage: chunk `c` of stage `s` is number `c * stages + s` on the way through the model.
    pub chunks: u32,
    /// Whether the last chunk shares a parameter with the first.
    pub tied: bool,
}

impl Layout {
    /// One stage that has the whole model.
    pub const fn alone(micros: u32) -> Self {
        Self { stages: 1, micros, chunks: 1, tied: false }
    }

    /// Forward passes of each stage, and as many backward passes.
    pub fn passes(&self) -> u32 {
        self.micros * self.chunks
    }

    /// The number of micro-batches in each round. In a round every chunk runs the same micro-batches before the next round begins; each has
    /// at least as many as there are stages, so that no stage waits for its own next chunk.
    pub(super) fn round(&self, round: u32) -> u32 {
        let rounds = self.rounds();
        self.micros / rounds + u32::from(round < self.micros % rounds)
    }

    pub(super) fn rounds(&self) -> u32 {
        if self.chunks == 1 { 1 } else { (self.micros / self.stages).max(1) }
    }

    /// The parts in the order of their forward passes: in micro-batch order for each chunk.
    pub(super) fn forwards(self) -> impl Iterator<Item = MicroPart> {
        self.in_rounds(move |chunk| chunk)
    }

    /// The parts in the order of their backward passes: also in micro-batch order for each chunk, so that every schedule sums
    /// gradients in the same order.
    pub(super) fn backwards(self) -> impl Iterator<Item = MicroPart> {
        self.in_rounds(move |chunk| self.chunks - 1 - chunk)
    }

    fn in_rounds(self, chunk: impl Fn(u32) -> u32 + Copy) -> impl Iterator<Item = MicroPart> {
        let starts = (0..self.rounds()).scan(0, move |next, round| {
            let start = *next;
            *next += self.round(round);
            Some((start, *next))
        });
        starts.flat_map(move |(start, end)| {
            (0..self.chunks).flat_map(move |index| {
                (start..end).map(move |micro| MicroPart { micro, chunk: chunk(index) })
            })
        })
    }
}
