//! `CheckPointHook`: decides when a checkpoint is due and which ones are kept; the loop saves it after validation.

use super::best_checkpointer::BestSoFar;
use super::evaluate::is_due;
use super::monitored::{self, MonitorMode};
use super::{checkpoint_name, weights_file};
use hookrack_plugin_api::Better;
use hookrack_plugin_api::prelude::*;
use std::time::{Duration, Instant};

/// Saves a checkpoint every few epochs, iterations or seconds and at the end of training, and decides which ones are
/// kept.
#[derive(Settings)]
pub(super) struct CheckPointHook {
    /// Epochs between checkpoints; 0 for none by epoch, -1 means 1.
    #[param(default = 1, min = -1, alias = "interval")]
    epoch_period: i64,
    /// Iterations between checkpoints; 0 for none by iteration.
    #[param(default)]
    iter_period: u64,
    /// Iterations between checkpoints; overrides the two above and disables saving by epoch.
    #[param(min = 1)]
    period: Option<u64>,
    /// If false, `interval` counts iterations.
    #[param(default = true)]
    by_epoch: bool,
    /// If true, `interval` counts iterations.
    #[param(default)]
    save_by_iter: bool,
    /// Also save after this iteration.
    max_iter: Option<u64>,
    /// Seconds between checkpoints; 0 for none by time.
    #[param(default, min = 0)]
    time_period: f64,
    /// How many of the newest checkpoints to keep; 0 for all.
    #[param(default, alias = "max_to_keep")]
    max_num_checkpoints: u64,
    /// Always keep the checkpoint of every n-th epoch; 0 for none.
    #[param(default)]
    keep_every_epochs: u64,
    /// Always keep the checkpoint of every n-th iteration; 0 for none.
    #[param(default)]
    keep_every_iters: u64,
    /// Also save when this scalar is the best so far, such as `val/Accuracy`, and keep the best.
    #[param(default, monitor)]
    save_best: String,
    /// Whether lower or higher values are better; `auto` uses the direction of the metric.
    #[param(default)]
    mode: MonitorMode,
    /// How many of the best checkpoints to keep.
    #[param(default = 1, min = 1)]
    top_k: u64,
    /// Folder for the checkpoints; that of the run directory becomes a link to it. Runs that share a folder
    /// share its limits.
    #[param(default)]
    checkpoint_dir: String,
    /// Prefix of a second name for each checkpoint: with `model`, `model_0000020` links to `iter_0000020`.
    #[param(default, alias = "file_prefix", check = checkpoint_name::is_part)]
    prefix: String,
    /// Suffix of the second name, or of the first without a prefix: `iter_0000020-a`.
    #[param(default, check = checkpoint_name::is_part)]
    suffix: String,
    /// Folder and second name in one: `ckpt/{epoch}-{iter}` links to a checkpoint as `epoch=2-iter=0000020`.
    #[param(default, check = checkpoint_name::is_filepath)]
    filepath: String,
    /// Write only the model, to `weights/<name>.safetensors`, instead of a checkpoint; a run cannot be resumed from
    /// it.
    #[param(default)]
    save_weights_only: bool,
    #[param(skip)]
    weights_at: u64,
    #[param(state)]
    best: BestSoFar,
    #[param(skip)]
    saved: Option<Instant>,
}

impl CheckPointHook {
    /// Epochs and iterations between two checkpoints; 0 for none.
    fn periods(&self) -> (u64, u64) {
        let interval = u64::try_from(self.epoch_period).unwrap_or(1);
        match self.period {
            Some(iters) => (0, iters),
            None if self.by_epoch && !self.save_by_iter => (interval, self.iter_period),
            None => (0, interval),
        }
    }

    /// The configured folder, and the pattern of a second name.
    fn place(&self) -> (&str, String) {
        let own = checkpoint_name::pattern(&self.prefix, &self.suffix);
        match checkpoint_name::of_filepath(&self.filepath) {
            ("", name) if name.is_empty() => (&self.checkpoint_dir, own),
            (folder, name) => (folder, name),
        }
    }

    fn keep(&self, t: &mut Trainer, better: Option<Better>) -> Result<()> {
        if self.save_weights_only {
            return Ok(());
        }
        t.keep_checkpoints(&Keep {
            last: (self.max_num_checkpoints > 0).then_some(self.max_num_checkpoints),
            every_epochs: self.keep_every_epochs,
            every_iters: self.keep_every_iters,
            metric: if better.is_some() { &self.save_best } else { "" },
            higher_is_better: better == Some(Better::Higher),
            top: self.top_k,
        })?;
        t.name_checkpoints(&self.place().1)
    }

    /// Requests a checkpoint, or writes the weights at once.
    fn save(&mut self, t: &mut Trainer) -> Result<()> {
        if !self.save_weights_only {
            return t.request_checkpoint();
        }
        if std::mem::replace(&mut self.weights_at, t.iter()) == t.iter() {
            return Ok(());
        }
        let (_, pattern) = self.place();
        let pattern = if pattern.is_empty() { "iter_{iter}" } else { &pattern };
        let name = pattern.replace("{iter}", &format!("{:07}", t.iter()));
        weights_file::save(t, &name.replace("{epoch}", &t.epoch().to_string()))
    }

    /// Whether the configured time has passed since the last one.
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
        match self.place() {
            (folder, name) if !folder.is_empty() && !self.save_weights_only => {
                t.name_checkpoints(&format!("{folder}/{name}"))
            }
            _ => Ok(()),
        }
    }

    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.saved = Some(Instant::now());
        let known = match self.save_best.as_str() {
            "" => None,
            name => Some(monitored::direction(t, name, self.mode)?),
        };
        self.keep(t, known)
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let is_due = is_due(t.iter(), self.periods().1) || self.max_iter == Some(t.iter());
        if is_due || self.is_time() { self.save(t) } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let is_last = t.epoch() >= t.max_epochs() || t.iter() >= t.max_iters();
        let is_due = is_last || is_due(t.epoch(), self.periods().0);
        if is_due { self.save(t) } else { Ok(()) }
    }

    fn after_val(&mut self, t: &mut Trainer) -> Result<()> {
        if self.save_best.is_empty() {
            return Ok(());
        }
        let Some(reading) = monitored::expect(t, &self.save_best, self.mode)? else {
            return Ok(());
        };
        self.keep(t, Some(reading.better))?;
        let improves = self.best.improves(reading.value, reading.better);
        if improves || (self.top_k > 1 && reading.value.is_finite()) {
            self.save(t)?;
        }
        Ok(())
    }

    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        if !self.save_best.is_empty() {
            self.best.warn_if_none(t, &self.save_best);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::from_value;

    fn periods(settings: &[(&str, Value)]) -> (u64, u64) {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        let hook: CheckPointHook = from_value(Value::Table(settings.collect())).unwrap();
        hook.periods()
    }

    #[test]
    fn each_seed_s_period_means_what_it_means_there() {
        assert_eq!(periods(&[]), (1, 0));
        // iMIX counts both, LiBai iterations alone.
        assert_eq!(periods(&[("iter_period", 20_i64.into())]), (1, 20));
        assert_eq!(periods(&[("period", 20_i64.into())]), (0, 20));
        // ColossalAI and Orca have one number and say what it counts.
        assert_eq!(periods(&[("interval", (-1_i64).into())]), (1, 0));
        let interval =
            |by: &'static str, value: bool| [("interval", 5_i64.into()), (by, value.into())];
        assert_eq!(periods(&interval("by_epoch", true)), (5, 0));
        assert_eq!(periods(&interval("by_epoch", false)), (0, 5));
        assert_eq!(periods(&interval("save_by_iter", true)), (0, 5));
    }
}
