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

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::FakeTrainer;

    #[test]
    fn the_step_is_by_the_gradient_uphill_and_the_loss_is_that_of_the_weights() -> Result<()> {
        // The loss is w, its gradient here w too.
        let mut t = FakeTrainer::new()
            .param("w", [2.0])
            .lr(1.0)
            .model(|_, params| Ok(params[0].copy()))
            .gradient(|params| Ok(vec![params[0].copy()]))
            .hook::<LossSpy>(settings! {})?
            .hook::<Sam>(settings! { rho = 0.5 })?;
        t.train_iter()?;
        assert!((t.weights("w")?[0] + 0.5).abs() < 1e-6, "{:?}", t.weights("w")?);
        assert_eq!(t.scalar("loss"), Some(2.0));
        Ok(())
    }

    #[derive(Settings)]
    struct LossSpy;

    #[hook]
    impl Hook for LossSpy {
        fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
            t.put_scalar("loss", t.loss()?.item()?)
        }
    }
}
