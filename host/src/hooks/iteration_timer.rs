//! `IterationTimerHook`: how long iterations take, and how much of that is waiting for data.

use hookrack_plugin_api::prelude::*;
use std::time::Instant;

/// Logs `train/time` and `train/data_time` after each iteration and `train/epoch_time` after each epoch; logs the
/// average speed at the end of the run.
#[derive(Settings)]
pub(super) struct IterationTimerHook {
    /// Iterations to skip after each start or resume, which include one-off work.
    #[param(default = 3)]
    warmup_iter: u64,
    #[param(skip)]
    done: u64,
    #[param(skip)]
    keys: Option<[ScalarKey; 2]>,
    #[param(skip)]
    counted: u64,
    #[param(skip)]
    seconds: f64,
    #[param(skip)]
    epoch_began: Option<Instant>,
}

#[hook(
    level = 16,
    ranks = "main",
    aliases = "IterationTimer",
    reads = "time",
    writes = "events, train/time, train/data_time, train/epoch_time"
)]
impl Hook for IterationTimerHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.keys =
            Some([t.scalar_key("train/time", true)?, t.scalar_key("train/data_time", true)?]);
        Ok(())
    }

    fn before_train_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.epoch_began = Some(Instant::now());
        Ok(())
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let Some(began) = self.epoch_began.take() else { return Ok(()) };
        let key = t.scalar_key("train/epoch_time", false)?;
        t.put(key, began.elapsed().as_secs_f64())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let Some([time, data_time]) = self.keys else { return Ok(()) };
        self.done += 1;
        if self.done <= self.warmup_iter {
            return Ok(());
        }
        self.counted += 1;
        self.seconds += t.iter_time();
        t.put(time, t.iter_time())?;
        t.put(data_time, t.data_time())
    }

    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer iterations than 2^53")]
    fn after_train(&mut self, _t: &mut Trainer) -> Result<()> {
        if self.counted > 0 {
            let (count, seconds) = (self.counted, self.seconds);
            let rate = count as f64 / seconds;
            info!(
                "{count} iterations in {seconds:.2} s, {rate:.1} per second, later hooks excluded"
            );
        }
        Ok(())
    }
}
