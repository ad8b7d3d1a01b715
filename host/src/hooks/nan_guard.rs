//! `NaNGuard`: ends a run whose loss or gradients are no numbers any more, before they reach the parameters.

use hookrack_plugin_api::prelude::*;

/// Ends the run when the loss is infinite or NaN, before the parameters take it in: the last checkpoint stays good.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NanGuard {
    /// Iterations between two looks; each one waits for the device.
    #[param(default = 1, min = 1)]
    interval: u64,
    /// Looks at the norm of the gradients too.
    #[serde(default)]
    grads: bool,
}

fn check(what: &str, value: f64, t: &Trainer) -> Result<()> {
    ensure!(
        value.is_finite(),
        "the {what} is {value} in iteration {} of epoch {}: the parameters were left as they are; lower the learning \
         rate, clip gradients, or look with AutogradAnomalyDetectHook",
        t.iter(),
        t.epoch()
    );
    Ok(())
}

#[hook(level = HIGHEST, aliases = "TerminateOnNaN", reads = "loss, grads", on_error = "abort")]
impl Hook for NanGuard {
    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        let due = t.phase() == Phase::Train && t.iter().is_multiple_of(self.interval);
        let loss = if due { t.loss()?.item()? } else { 0.0 };
        // The mean over no label at all is NaN too, and changes nothing.
        if loss.is_finite() || t.loss_weight()? > 0.0 {
            check("loss", loss, t)?;
        }
        Ok(())
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        if self.grads && t.iter().is_multiple_of(self.interval) {
            check("gradients' norm", t.grad_norm()?.item()?, t)?;
        }
        Ok(())
    }
}
