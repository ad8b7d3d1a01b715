//! `OptimizerHook`: clips the gradients, logs their norm and steps the optimizer.

use super::grad_clip::{GradClip, clipped};
use hookrack_plugin_api::prelude::*;

/// Clips the total gradient norm, logs `train/grad_norm`, the norm before clipping, and steps the optimizer.
#[derive(Settings)]
pub(super) struct OptimizerHook {
    /// Maximum gradient norm. Default: no clipping.
    grad_clip: Option<GradClip>,
    #[param(skip)]
    key: Option<ScalarKey>,
}

#[hook(level = HIGHEST, mutates = "params, grads", writes = "events, train/grad_norm")]
impl Hook for OptimizerHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/grad_norm", true)?);
        self.grad_clip.as_mut().map_or(Ok(()), |clip| clip.prepare(t))
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let norm = clipped(t, self.grad_clip.as_ref())?;
        self.key.map_or(Ok(()), |key| t.put(key, norm))
    }

    fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        t.optimizer_step()
    }
}
