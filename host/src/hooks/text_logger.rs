//! `TextLoggerHook`: logs a configured text, to see a hook run.

use hookrack_plugin_api::prelude::*;

/// Logs a text at the start and end of training and after each epoch.
#[derive(Settings)]
pub(super) struct TextLoggerHook {
    /// Text to log.
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
