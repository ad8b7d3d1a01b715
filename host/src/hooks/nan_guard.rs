//! `NaNGuard`: ends a run whose loss or gradients become NaN or infinite, before they reach the parameters.

use hookrack_plugin_api::prelude::*;

/// Ends the run when the loss is infinite or NaN, before the parameters are updated, so that the last checkpoint stays
/// valid. Each check synchronizes with the device.
#[derive(Settings)]
pub(super) struct NanGuard {
    /// Check the gradient norm as well as the loss.
    #[param(default)]
    grads: bool,
}

fn check(what: &str, value: f64, t: &Trainer) -> Result<()> {
    ensure!(
        value.is_finite(),
        "the {what} is {value} in iteration {} of epoch {}: the parameters were not updated; lower the learning \
         rate, clip gradients, or find the cause with AutogradAnomalyDetectHook",
        t.iter(),
        t.epoch()
    );
    Ok(())
}

#[hook(level = HIGHEST, every = "1it", aliases = "TerminateOnNaN", reads = "loss, grads", on_error = "abort")]
impl Hook for NanGuard {
    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        // The mean over no labels is NaN too, and changes nothing.
        if t.phase() == Phase::Train && t.loss_weight()? > 0.0 {
            check("loss", t.loss()?.item()?, t)?;
        }
        Ok(())
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        if self.grads {
            check("gradients' norm", t.grad_norm()?.item()?, t)?;
        }
        Ok(())
    }
}
