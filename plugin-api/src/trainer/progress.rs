//! The progress of the run.

use super::Trainer;
use crate::phase::{Outcome, Phase};

/// The progress of the run. Each of these is a load from memory that the host shares, not a call, except
/// [`failure`](Self::failure).
///
/// Before the first pass and between passes the phase is training, also in `hookrack eval`. During an
/// evaluation within training, epoch and iteration are those of training. Numbers of epochs and iterations
/// are restored by a resume before `after_load_checkpoint`; at `on_attach` and `before_run` they are 0.
impl Trainer {
    /// Returns the name of this hook or metric in the config; unique in the run.
    pub fn instance(&self) -> &'static str {
        self.host.instance()
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        Phase::from_code(self.host.progress().phase)
    }

    /// Returns the current epoch, from 1. Between epochs, the number of epochs started.
    pub fn epoch(&self) -> u64 {
        self.host.progress().epoch
    }

    /// Returns the current training iteration, from 1. Between iterations, the number of iterations started.
    /// It continues after a resume.
    #[expect(clippy::iter_not_returning_iterator, reason = "what everyone in the field calls it")]
    pub fn iter(&self) -> u64 {
        self.host.progress().iter
    }

    /// Returns the current iteration within the epoch or pass, from 1; 0 before the first. In an evaluation
    /// on several ranks it is the number of the batch among all ranks, so this rank does not see every
    /// number.
    pub fn inner_iter(&self) -> u64 {
        self.host.progress().inner_iter
    }

    /// Returns the number of iterations in an epoch or pass of the current phase, in an evaluation over all
    /// ranks.
    pub fn inner_len(&self) -> u64 {
        self.host.progress().inner_len
    }

    /// Returns the configured number of epochs.
    pub fn max_epochs(&self) -> u64 {
        self.host.progress().max_epochs
    }

    /// Returns the number of iterations after which training is complete.
    pub fn max_iters(&self) -> u64 {
        self.host.progress().max_iters
    }

    /// Returns the index of the current micro-batch, from 0, and the number of micro-batches in the
    /// iteration. In a pipeline the indices are in the order of the schedule.
    pub fn micro_batch(&self) -> (u32, u32) {
        let progress = self.host.progress();
        (progress.micro, progress.micros)
    }

    /// Returns the number of samples in the current batch: on all ranks in training, on this rank in an
    /// evaluation. The last batch of an epoch may have fewer than the others.
    pub fn batch_size(&self) -> u64 {
        self.host.progress().batch_size
    }

    /// Returns the number of training samples consumed so far, on all ranks.
    pub fn samples(&self) -> u64 {
        self.host.progress().samples
    }

    /// Returns the rank of this process, from 0; 0 in a run of one process.
    pub fn rank(&self) -> u32 {
        self.host.progress().rank
    }

    /// Returns the number of ranks; 1 in a run of one process.
    pub fn world_size(&self) -> u32 {
        self.host.progress().world
    }

    /// Returns the seed of the run, `train.seed`. It is the same on all ranks.
    pub fn seed(&self) -> u64 {
        self.host.progress().seed
    }

    /// Returns the learning rate of the largest parameter group, by number of parameters; of the first if
    /// there are several.
    ///
    /// Parameters are counted as tensors. If each group has one, it is the first group of those that start
    /// from the most common rate. A [change](Self::set_lr) by a hook is seen at once.
    pub fn lr(&self) -> f64 {
        self.host.progress().lr
    }

    /// Returns the seconds spent waiting for the current training batch.
    pub fn data_time(&self) -> f64 {
        self.host.progress().data_time
    }

    /// Returns the seconds from requesting the batch to the end of the last role of the current iteration; 0
    /// before that.
    ///
    /// It is set before `after_train_iter`, and includes the hooks at the points before, but not a
    /// validation. An evaluation does not change it.
    pub fn iter_time(&self) -> f64 {
        self.host.progress().iter_time
    }

    /// Returns how the run ended; `None` while it is in progress.
    ///
    /// It is known from the last checkpoint of a run that was stopped early on, at `on_exception` and at
    /// `after_train`, `after_run` and `on_detach`. A failure at a later point still replaces it.
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::from_code(self.host.progress().outcome)
    }

    /// Returns the error that ended the run, at `on_exception` and later points; `None` if there is none.
    /// Allocates.
    ///
    /// The text names hook, library, point, epoch and iteration. If another rank caused it, it names that
    /// rank.
    pub fn failure(&self) -> Option<String> {
        self.host.failure()
    }
}
