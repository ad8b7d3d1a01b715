//! `MainHook`: the default implementation of all roles. A configured hook can take over any of them.

use hookrack_plugin_api::prelude::*;

/// Runs the configured model, loss, optimizer and learning rate schedule.
#[derive(Settings)]
pub(super) struct MainHook {}

#[hook(mutates = "params, grads, lr, output, loss")]
impl Hook for MainHook {
    fn on_iter_forward(&mut self, t: &mut Trainer) -> Result<()> {
        t.forward()?;
        // Data to predict has no labels.
        if t.phase() == Phase::Pred { Ok(()) } else { t.criterion() }
    }

    fn on_iter_backward(&mut self, t: &mut Trainer) -> Result<()> {
        t.backward()
    }

    fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        t.optimizer_step()
    }

    fn on_lr_adjust(&mut self, t: &mut Trainer) -> Result<()> {
        t.lr_step()
    }
}
