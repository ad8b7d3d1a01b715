//! The position of a run: phase, epoch, iteration, and how it ended.

use hookrack_plugin_api::abi::HrProgress;
use hookrack_plugin_api::{Outcome, Phase, Point};
use std::cell::Cell;

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// The epoch in progress, the first is 1; between epochs, how many were begun.
    pub epoch: u64,
    /// The training iteration in progress, the first is 1; between iterations, how many were begun.
    pub iter: u64,
    /// The iteration in progress within the current pass, the first is 1.
    pub inner_iter: u64,
    /// Iterations of one pass over the current phase's data.
    pub inner_len: u64,
    /// The epoch after which training ends.
    pub max_epochs: u64,
    /// The iteration after which training ends.
    pub max_iters: u64,
    /// The micro-batch in progress, the first is 0.
    pub micro: u32,
    /// Micro-batches of an iteration.
    pub micros: u32,
    /// Training samples consumed.
    pub samples: u64,
    /// Samples in the current batch.
    pub batch_size: u64,
    /// This process among `world`.
    pub rank: u32,
    /// The number of processes that train together.
    pub world: u32,
    /// The run's seed.
    pub seed: u64,
    /// The learning rate of the largest parameter group.
    pub lr: f64,
    /// Seconds that fetching the current batch took.
    pub data_time: f64,
    /// Seconds from the start of the current iteration's fetch to the end of its last role; 0 before that.
    pub iter_time: f64,
    /// How the run ended; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// The point at which the run failed; `None` outside of any point.
    pub failed_point: Option<Point>,
}

impl Default for Progress {
    /// The beginning of a run of one process.
    fn default() -> Self {
        Self {
            phase: Phase::Train,
            epoch: 0,
            iter: 0,
            inner_iter: 0,
            inner_len: 0,
            max_epochs: 0,
            max_iters: 0,
            micro: 0,
            micros: 1,
            samples: 0,
            batch_size: 0,
            rank: 0,
            world: 1,
            seed: 0,
            lr: 0.0,
            data_time: 0.0,
            iter_time: 0.0,
            outcome: None,
            failed_point: None,
        }
    }
}

impl From<&Progress> for HrProgress {
    fn from(p: &Progress) -> Self {
        Self {
            struct_size: u32::try_from(size_of::<Self>()).unwrap_or(u32::MAX),
            phase: p.phase.code(),
            epoch: p.epoch,
            iter: p.iter,
            inner_iter: p.inner_iter,
            inner_len: p.inner_len,
            max_epochs: p.max_epochs,
            max_iters: p.max_iters,
            micro: p.micro,
            micros: p.micros,
            samples: p.samples,
            batch_size: p.batch_size,
            rank: p.rank,
            world: p.world,
            seed: p.seed,
            lr: p.lr,
            data_time: p.data_time,
            iter_time: p.iter_time,
            outcome: p.outcome.map_or(0, Outcome::code),
            failed_point: p.failed_point.map_or(u32::MAX, Point::code),
        }
    }
}

/// The progress of a run, and its copy that plugins read without a call.
#[derive(Debug)]
pub struct SharedProgress {
    now: Cell<Progress>,
    wire: Cell<HrProgress>,
}

impl SharedProgress {
    /// A run that begins here.
    pub fn new(progress: Progress) -> Self {
        Self { wire: Cell::new((&progress).into()), now: Cell::new(progress) }
    }

    /// Where the run is.
    #[inline]
    pub fn get(&self) -> Progress {
        self.now.get()
    }

    /// Updates the position.
    pub fn set(&self, progress: Progress) {
        self.wire.set((&progress).into());
        self.now.set(progress);
    }

    /// The address that plugins read from. Valid as long as this value is not moved.
    pub fn wire(&self) -> *const HrProgress {
        self.wire.as_ptr()
    }
}
