//! Where the run is.

use super::Trainer;
use crate::phase::{Outcome, Phase};

/// Where the run is.
impl Trainer {
    /// This hook's name in the config.
    pub fn instance(&self) -> &'static str {
        self.host.instance()
    }

    /// What the run is doing.
    pub fn phase(&self) -> Phase {
        Phase::from_code(self.host.progress().phase)
    }

    /// The epoch in progress; the first is 1. Between epochs, how many were begun.
    pub fn epoch(&self) -> u64 {
        self.host.progress().epoch
    }

    /// The training iteration in progress; the first is 1. Between iterations, how many were begun.
    #[expect(clippy::iter_not_returning_iterator, reason = "what everyone in the field calls it")]
    pub fn iter(&self) -> u64 {
        self.host.progress().iter
    }

    /// The iteration in progress within the current pass; the first is 1.
    pub fn inner_iter(&self) -> u64 {
        self.host.progress().inner_iter
    }

    /// Iterations of one pass over the current phase's data.
    pub fn inner_len(&self) -> u64 {
        self.host.progress().inner_len
    }

    /// The epoch after which training ends.
    pub fn max_epochs(&self) -> u64 {
        self.host.progress().max_epochs
    }

    /// The iteration after which training ends.
    pub fn max_iters(&self) -> u64 {
        self.host.progress().max_iters
    }

    /// The micro-batch in progress (the first is 0) and how many an iteration has.
    pub fn micro_batch(&self) -> (u32, u32) {
        let progress = self.host.progress();
        (progress.micro, progress.micros)
    }

    /// Samples in the current batch.
    pub fn batch_size(&self) -> u64 {
        self.host.progress().batch_size
    }

    /// Training samples consumed so far.
    pub fn samples(&self) -> u64 {
        self.host.progress().samples
    }

    /// This process among [`Self::world_size`].
    pub fn rank(&self) -> u32 {
        self.host.progress().rank
    }

    /// How many processes train together.
    pub fn world_size(&self) -> u32 {
        self.host.progress().world
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.host.progress().seed
    }

    /// The learning rate of the largest parameter group: that with the most parameters, the first of several.
    pub fn lr(&self) -> f64 {
        self.host.progress().lr
    }

    /// Seconds that fetching the current batch took.
    pub fn data_time(&self) -> f64 {
        self.host.progress().data_time
    }

    /// Seconds that the current iteration took, from the start of its fetch to the end of its last role.
    pub fn iter_time(&self) -> f64 {
        self.host.progress().iter_time
    }

    /// How the run ended; `None` while it is in progress.
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::from_code(self.host.progress().outcome)
    }

    /// What failed, at `on_exception` and after it.
    pub fn failure(&self) -> Option<String> {
        self.host.failure()
    }
}
