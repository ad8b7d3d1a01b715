//! `Sam`: a second pass within the iteration, through the hook in the forward role; works with accumulation and fp16.

use hookrack_plugin_api::prelude::*;

/// Steps with the gradient at the point within `rho` where the loss is highest (arXiv 2010.01412).
#[derive(Settings)]
pub struct Sam {
    /// Distance of that point; 0 is ordinary training at twice the cost.
    #[param(default = 0.05, min = 0.0)]
    rho: f64,
}

#[hook(mutates = "params, grads", writes = "nothing")]
impl Hook for Sam {
    fn on_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        // What is logged is of the weights themselves, not of the point nearby.
        let (output, loss) = (t.output()?.keep()?, t.loss()?.keep()?);
        let norm = t.grads().norm()?.item()?;
        let weights = t.params().clone_detached()?;
        t.params().add_scaled_(&t.grads(), self.rho / (norm + 1e-12))?;
        t.grads().zero_()?;
        t.train_forward()?;
        t.backward()?;
        t.params().copy_(&weights)?;
        t.set_output(&output)?;
        t.set_loss(&loss)?;
        t.optimizer_step()
    }
}

export_plugin! { hooks: [Sam] }
