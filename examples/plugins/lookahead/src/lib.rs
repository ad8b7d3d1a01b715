//! `Lookahead`: slow weights that follow the optimizer's, and are part of a checkpoint.

use hookrack_plugin_api::prelude::*;

/// Every 5 steps, or as set by `every`, moves the slow weights toward the fast ones (arXiv 1907.08610).
#[derive(Settings)]
pub struct Lookahead {
    /// Step size of the slow weights.
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    alpha: f64,
    #[param(state)]
    slow: TensorList,
}

#[hook(every = "5it", mutates = "params", writes = "nothing")]
impl Hook for Lookahead {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.slow.init(&t.params())
    }

    fn after_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        self.slow.lerp_(&t.params(), self.alpha)?;
        t.params().copy_(&self.slow)
    }
}

export_plugin! { hooks: [Lookahead] }
