//! `Lookahead`: slow weights that follow the optimizer's, and are part of a checkpoint.

use hookrack_plugin_api::prelude::*;

/// Every `k` steps, goes a part of the way from where the last `k` began to where they led (arXiv 1907.08610).
#[derive(Settings)]
pub struct Lookahead {
    /// Steps of the optimizer for each of the slow weights.
    #[param(default = 5, min = 1)]
    k: u64,
    /// Which part of the way.
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    alpha: f64,
    #[param(skip)]
    slow: TensorList,
}

#[hook(mutates = "params", writes = "nothing")]
impl Hook for Lookahead {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        if self.slow.is_empty() {
            self.slow = t.params().clone_detached()?;
        }
        Ok(())
    }

    fn after_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        if t.iter().is_multiple_of(self.k) {
            self.slow.lerp_(&t.params(), self.alpha)?;
            t.params().copy_(&self.slow)?;
        }
        Ok(())
    }

    fn save_state(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put_tensors("slow", &self.slow)
    }

    fn load_state(&mut self, state: &StateReader<'_>) -> Result<()> {
        self.slow = state.tensors("slow");
        Ok(())
    }
}

export_plugin! { hooks: [Lookahead] }
