//! `CheckPointHook`: says when a checkpoint is due and which ones stay; the loop has the slot for it, after validation.

use super::best_checkpointer::BestSoFar;
use super::checkpoint_folder;
use super::monitored::{self, Mode};
use hookrack_plugin_api::prelude::*;
use std::time::{Duration, Instant};

/// Asks for a checkpoint every so many epochs, iterations or seconds, and at the end of training; says which ones stay.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckPointHook {
    /// Epochs between two checkpoints; 0 for none by epoch.
    #[serde(default = "one", alias = "interval")]
    epoch_period: u64,
    /// Iterations between two checkpoints; 0 for none by iteration.
    #[serde(default, alias = "period")]
    iter_period: u64,
    /// Seconds between two checkpoints; 0 for none by time.
    #[serde(default)]
    #[param(min = 0)]
    time_period: f64,
    /// How many of the newest stay; 0 for all.
    #[serde(default, alias = "max_to_keep")]
    max_num_checkpoints: u64,
    /// Those of every so many-th epoch stay for good; 0 for none.
    #[serde(default)]
    keep_every_epochs: u64,
    /// Those of every so many-th iteration stay for good; 0 for none.
    #[serde(default)]
    keep_every_iters: u64,
    /// Saves also when this value is better than ever, such as `val/Accuracy`, and keeps the best.
    #[serde(default)]
    save_best: String,
    /// Whether a better value is a lower or a higher one.
    #[serde(default)]
    mode: Mode,
    /// How many of the best stay.
    #[serde(default = "one")]
    #[param(min = 1)]
    top_k: u64,
    /// A folder for the checkpoints, to which the run directory's own then leads. Runs that share one share what stays in it.
    #[serde(default)]
    checkpoint_dir: String,
    #[serde(skip)]
    best: BestSoFar,
    #[serde(skip)]
    saved: Option<Instant>,
}

fn one() -> u64 {
    1
}

fn is_due(count: u64, period: u64) -> bool {
    period > 0 && count.is_multiple_of(period)
}

impl CheckPointHook {
    fn keep(&self, t: &mut Trainer, higher_is_better: Option<bool>) -> Result<()> {
        t.keep_checkpoints(&Keep {
            last: (self.max_num_checkpoints > 0).then_some(self.max_num_checkpoints),
            every_epochs: self.keep_every_epochs,
            every_iters: self.keep_every_iters,
            metric: if higher_is_better.is_some() { &self.save_best } else { "" },
            higher_is_better: higher_is_better.unwrap_or_default(),
            top: self.top_k,
        })
    }

    /// Whether so much time has passed since the last one.
    fn is_time(&mut self) -> bool {
        let Ok(period) = Duration::try_from_secs_f64(self.time_period) else { return false };
        let since = self.saved.get_or_insert_with(Instant::now);
        let is_time = !period.is_zero() && since.elapsed() >= period;
        if is_time {
            self.saved = Some(Instant::now());
        }
        is_time
    }
}

#[hook(
    level = 42,
    aliases = "SaveCheckpointHook, PeriodicCheckpointer, ModelCheckpoint",
    on_error = "abort"
)]
impl Hook for CheckPointHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        match t.run_dir() {
            Some(run) if !self.checkpoint_dir.is_empty() => {
                checkpoint_folder::lead(&run, &self.checkpoint_dir)
            }
            _ => Ok(()),
        }
    }

    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.saved = Some(Instant::now());
        let known = match self.save_best.as_str() {
            "" => None,
            name => monitored::read(t, name, self.mode)?.map(|reading| reading.higher_is_better),
        };
        self.keep(t, known)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let is_due = is_due(t.iter(), self.iter_period) || self.is_time();
        if is_due { t.request_checkpoint() } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let is_last = t.epoch() >= t.max_epochs() || t.iter() >= t.max_iters();
        if is_last || is_due(t.epoch(), self.epoch_period) {
            t.request_checkpoint()
        } else {
            Ok(())
        }
    }

    fn after_val(&mut self, t: &mut Trainer) -> Result<()> {
        if self.save_best.is_empty() {
            return Ok(());
        }
        let Some(reading) = monitored::read(t, &self.save_best, self.mode)? else {
            warn!("there is no `{}` to choose the best checkpoint by", self.save_best);
            return Ok(());
        };
        self.keep(t, Some(reading.higher_is_better))?;
        let improves = self.best.improves(reading.value, reading.higher_is_better);
        if improves || (self.top_k > 1 && reading.value.is_finite()) {
            t.request_checkpoint()?;
        }
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        self.best.save(state)
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.best.load(state);
        Ok(())
    }
}
