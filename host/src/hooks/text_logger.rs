//! `TextLoggerHook`: a line of your own in the log, to see a hook run.

use hookrack_plugin_api::prelude::*;

/// Logs a text when training begins, after each epoch and when training ends.
#[derive(Settings)]
pub(super) struct TextLoggerHook {
    /// What is logged.
    #[param(default = "hello from TextLoggerHook")]
    text: String,
}

#[hook(level = NORMAL)]
impl Hook for TextLoggerHook {
    fn before_train(&mut self, _t: &mut Trainer) -> Result<()> {
        info!("before training: {}", self.text);
        Ok(())
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        info!("after epoch {}: {}", t.epoch(), self.text);
        Ok(())
    }

    fn after_train(&mut self, _t: &mut Trainer) -> Result<()> {
        info!("after training: {}", self.text);
        Ok(())
    }
}
