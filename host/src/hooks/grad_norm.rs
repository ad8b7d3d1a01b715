//! `GradNormHook`: how large the gradients are.

use hookrack_plugin_api::prelude::*;

/// Logs `train/grad_norm`, the total gradient norm before clipping by `train.clip_grad_norm`, and optionally the norm of
/// each parameter's gradient. Each reading synchronizes with the device.
#[derive(Settings)]
pub(super) struct GradNormHook {
    /// Also log `hook/<name>/<parameter>` for each parameter; these norms are after clipping.
    #[param(default)]
    per_param: bool,
    #[param(skip)]
    key: Option<ScalarKey>,
    #[param(skip)]
    param_keys: Vec<ScalarKey>,
}

#[hook(level = 15, every = "1it", reads = "grads", writes = "events, train/grad_norm", ops = [ops::norm])]
impl Hook for GradNormHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.key = Some(t.scalar_key("train/grad_norm", true)?);
        if self.per_param {
            let names = t.param_names()?;
            let keys = names.iter().map(|name| t.scalar_key(&format!("@{name}"), true));
            self.param_keys = keys.collect::<Result<_>>()?;
        }
        Ok(())
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let Some(key) = self.key else { return Ok(()) };
        let norm = t.grad_norm()?.item()?;
        t.put(key, norm)?;
        for (index, key) in self.param_keys.iter().enumerate() {
            // A parameter that took no part has no gradient.
            let Some(grad) = t.grads().at(index).filter(|grad| !grad.is_absent()) else { continue };
            let norm = grad.norm()?.item()?;
            t.put(*key, norm)?;
        }
        Ok(())
    }
}
