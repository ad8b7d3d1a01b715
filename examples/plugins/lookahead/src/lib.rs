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

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::FakeTrainer;

    #[test]
    fn the_weights_go_back_half_of_the_way_and_a_resumed_run_knows_where_from() -> Result<()> {
        let training = || {
            let t = FakeTrainer::new().param("w", [8.0]).grad("w", [1.0]).lr(1.0);
            t.hook::<Lookahead>(settings! { every = "2it" })
        };
        let mut t = training()?;
        t.fit(2, 1)?;
        // From 8 to 6, and half of the way back.
        assert_eq!(t.weights("w")?, [7.0]);
        let mut cut = training()?;
        cut.fit(1, 1)?;
        let saved = cut.save_state()?;
        let mut resumed = training()?;
        resumed.resume(&saved)?;
        resumed.fit(2, 1)?;
        assert_eq!(resumed.weights("w")?, [7.0]);
        Ok(())
    }
}
