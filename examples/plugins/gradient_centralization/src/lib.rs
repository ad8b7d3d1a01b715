//! `GradientCentralization`: changes gradients before they are clipped.

use hookrack_plugin_api::prelude::*;

/// Takes the mean out of each gradient, for every output of a layer by itself (arXiv 2004.01461).
#[derive(Settings)]
pub struct GradientCentralization {}

#[hook(mutates = "grads", writes = "nothing")]
impl Hook for GradientCentralization {
    fn before_clip_grad(&mut self, t: &mut Trainer) -> Result<()> {
        for grad in t.grads().iter().filter(|grad| !grad.is_absent()) {
            let dims: Vec<i64> = (1..i64::try_from(grad.dim()?)?).collect();
            if !dims.is_empty() {
                grad.sub_(&grad.mean_dim(&dims, true)?)?;
            }
        }
        Ok(())
    }
}

export_plugin! { hooks: [GradientCentralization] }
