//! `Fp16OptimizerHook`: trains in 16 bits with a scaled loss, and does what `OptimizerHook` does.

use super::grad_clip::{GradClip, clipped};
use hookrack_plugin_api::prelude::*;

/// Runs in fp16 with loss scaling, as `train.precision = "fp16"` does; clips the unscaled gradients, logs
/// `train/grad_norm`, and skips the optimizer step if a gradient is not finite.
#[derive(Settings)]
pub(super) struct Fp16OptimizerHook {
    /// Maximum gradient norm. Default: no clipping.
    grad_clip: Option<GradClip>,
    /// Parameters of dynamic loss scaling; PyTorch's defaults.
    #[param(default)]
    grad_scaler_config: LossScaling,
    /// Constant loss scale, instead of dynamic scaling.
    #[param(min = 1.0)]
    loss_scale: Option<f64>,
    #[param(skip)]
    key: Option<ScalarKey>,
}

impl Fp16OptimizerHook {
    fn scaling(&self) -> LossScaling {
        match self.loss_scale {
            Some(scale) => LossScaling { scale, growth: 1.0, backoff: 1.0, interval: 1 },
            None => self.grad_scaler_config,
        }
    }
}

#[hook(level = HIGHEST, mutates = "params, grads", writes = "events, train/grad_norm, train/loss_scale, train/skipped_steps", on_error = "abort")]
impl Hook for Fp16OptimizerHook {
    fn before_run(&mut self, t: &mut Trainer) -> Result<()> {
        t.set_precision(Arithmetic::Fp16)?;
        t.set_loss_scaling(&self.scaling())
    }

    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/grad_norm", true)?);
        self.grad_clip.as_mut().map_or(Ok(()), |clip| clip.prepare(t))
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let norm = clipped(t, self.grad_clip.as_ref())?;
        match self.key {
            // The norm of a skipped step is not finite, and is not logged.
            Some(key) if norm.is_finite() => t.put(key, norm),
            _ => Ok(()),
        }
    }

    fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        t.optimizer_step()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_scale_stays_and_another_moves() {
        let mut hook = Fp16OptimizerHook {
            grad_clip: None,
            grad_scaler_config: LossScaling::PYTORCH,
            loss_scale: Some(512.0),
            key: None,
        };
        let fixed = LossScaling { scale: 512.0, growth: 1.0, backoff: 1.0, interval: 1 };
        assert_eq!(hook.scaling(), fixed);
        hook.loss_scale = None;
        assert_eq!(hook.scaling(), LossScaling::PYTORCH);
    }
}
