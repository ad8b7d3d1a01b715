//! The progress of the run.

use super::Trainer;
use crate::phase::{Outcome, Phase};

/// The progress of the run. Each of these is a load from memory that the host shares, not a call.
impl Trainer {
    /// The name of this hook or metric in the config; unique in the run.
    pub fn instance(&self) -> &'static str {
        self.host.instance()
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        Phase::from_code(self.host.progress().phase)
    }

    /// The current epoch, from 1. Between epochs, the number of epochs started.
    pub fn epoch(&self) -> u64 {
        self.host.progress().epoch
    }

    /// The current training iteration, from 1. Between iterations, the number of iterations started. It continues after a resume.
    #[expect(clippy::iter_not_returning_iterator, reason = "what everyone in the field calls it")]
    pub fn iter(&self) -> u64 {
        self.host.progress().iter
    }

    /// The current iteration within the epoch or pass, from 1.
    pub fn inner_iter(&self) -> u64 {
        self.host.progress().inner_iter
    }

    /// The number of iterations in an epoch or pass of the current phase.
    pub fn inner_len(&self) -> u64 {
        self.host.progress().inner_len
    }

    /// The configured number of epochs.
    pub fn max_epochs(&self) -> u64 {
        self.host.progress().max_epochs
    }

    /// The number of iterations after which training is complete.
    pub fn max_iters(&self) -> u64 {
        self.host.progress().max_iters
    }

    /// The index of the current micro-batch, from 0, and the number of micro-batches in the iteration.
    pub fn micro_batch(&self) -> (u32, u32) {
        let progress = self.host.progress();
        (progress.micro, progress.micros)
    }

    /// The number of samples in the current batch: on all ranks in training, on this rank in an evaluation.
    pub fn batch_size(&self) -> u64 {
        self.host.progress().batch_size
    }

    /// The number of training samples consumed so far, on all ranks.
    pub fn samples(&self) -> u64 {
        self.host.progress().samples
    }

    /// The rank of this process, from 0; 0 in a run of one process.
    pub fn rank(&self) -> u32 {
        self.host.progress().rank
    }

    /// The number of ranks; 1 in a run of one process.
    pub fn world_size(&self) -> u32 {
        self.host.progress().world
    }

    /// The seed of the run, `train.seed`.
    pub fn seed(&self) -> u64 {
        self.host.progress().seed
    }

    /// The learning rate of the largest parameter group, by number of parameters; the first if there are several.
    pub fn lr(&self) -> f64 {
        self.host.progress().lr
    }

    /// Seconds spent waiting for the current batch.
    pub fn data_time(&self) -> f64 {
        self.host.progress().data_time
    }

    /// Seconds from requesting the batch to the end of the last role of the current iteration.
    pub fn iter_time(&self) -> f64 {
        self.host.progress().iter_time
    }

    /// How the run ended; `None` while it is in progress.
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::from_code(self.host.progress().outcome)
    }

    /// The error that ended the run, at `on_exception` and later points; `None` if there is none.
    pub fn failure(&self) -> Option<String> {
        self.host.failure()
    }
}
