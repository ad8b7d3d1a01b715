//! `LearningRateMonitor`: the rate that each optimizer step is made with.

use hookrack_plugin_api::prelude::*;

/// Logs `train/lr`, the learning rate of each optimizer step.
#[derive(Settings)]
pub(super) struct LearningRateMonitor {
    #[param(skip)]
    key: Option<ScalarKey>,
}

#[hook(level = 14, reads = "lr", writes = "events, train/lr")]
impl Hook for LearningRateMonitor {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/lr", false)?);
        Ok(())
    }

    // Before the schedule changes it for the next iteration.
    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let lr = t.lr();
        self.key.map_or(Ok(()), |key| t.put(key, lr))
    }
}
