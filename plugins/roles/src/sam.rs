//! `SamHook`: sharpness-aware minimization, a second pass at the worst nearby point through the hook in the forward role.

use hookrack_plugin_api::prelude::*;

/// Sharpness-aware minimization: steps with the gradient at the nearby point where the loss is highest, to find flat
/// minima (arXiv 2010.01412).
#[derive(Settings)]
pub struct Sam {
    /// Distance of that point; 0 is ordinary training at twice the cost.
    #[param(default = 0.05, min = 0.0)]
    pub rho: f64,
}

#[hook(mutates = "params, grads", writes = "nothing")]
impl Hook for Sam {
    /// The slots hold the whole batch here, however it was cut before: so does the second pass.
    fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let norm = t.grads().norm()?.item()?;
        // A gradient that is not finite has no direction; in fp16 the host skips this step.
        if norm.is_finite() && norm > 0.0 {
            self.ascend_and_descend(t, norm)?;
        }
        t.optimizer_step()
    }
}

impl Sam {
    fn ascend_and_descend(&self, t: &mut Trainer, norm: f64) -> Result<()> {
        // Logs the loss of the current weights, not of the nearby point.
        let (output, loss) = (t.output()?.keep()?, t.loss()?.keep()?);
        let weights = t.params().clone_detached()?;
        let away = t.grads().clone_detached()?;
        away.mul_(self.rho / norm)?;
        t.params().add_(&away)?;
        t.grads().zero_()?;
        let passed = t.train_forward().and_then(|()| t.backward());
        // Restores the exact weights, even if the pass failed.
        t.params().copy_(&weights)?;
        passed?;
        t.set_output(&output)?;
        t.set_loss(&loss)
    }
}
