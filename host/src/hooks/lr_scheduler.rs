//! `LRSchedulerHook`: steps the configured learning rate schedule and logs the rate.

use hookrack_plugin_api::prelude::*;

/// Logs `train/lr`, the learning rate of the optimizer step, and steps the configured schedule.
#[derive(Settings)]
pub(super) struct LrSchedulerHook {
    /// Step the schedule by epoch, not by iteration. Default: that of `[lr_scheduler]`.
    by_epoch: Option<bool>,
    /// Share the learning rate with other hooks as `lr`.
    #[param(default = true)]
    store_lr_in_state: bool,
    #[param(skip)]
    key: Option<ScalarKey>,
}

#[hook(level = HIGH, aliases = "LRScheduler", mutates = "lr", reads = "lr", writes = "events, train/lr")]
impl Hook for LrSchedulerHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        self.by_epoch.map_or(Ok(()), |by_epoch| t.count_lr_by_epoch(by_epoch))
    }

    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/lr", false)?);
        Ok(())
    }

    fn after_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let lr = t.lr();
        if self.store_lr_in_state {
            t.put_state("lr", lr)?;
        }
        self.key.map_or(Ok(()), |key| t.put(key, lr))
    }

    fn on_lr_adjust(&mut self, t: &mut Trainer) -> Result<()> {
        t.lr_step()
    }
}
