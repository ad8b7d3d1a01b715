//! `IterRuleHook`: a custom learning rate rule, called after every iteration.

use hookrack_plugin_api::prelude::*;

/// Warms up the learning rate of every group linearly, then decays it with the inverse square root of the iteration.
#[derive(Settings)]
pub struct IterRule {
    /// Number of warm-up iterations.
    #[param(default = 100, min = 1)]
    pub warmup_iters: u64,
}

impl IterRule {
    /// The factor for an iteration, which begins at 1: linear up to 1, then decaying.
    #[expect(clippy::cast_precision_loss, reason = "iterations are far below 2^53")]
    fn factor(&self, iter: u64) -> f64 {
        let share = iter as f64 / self.warmup_iters as f64;
        share.min(1.0 / share.sqrt())
    }

    fn set(&self, t: &mut Trainer, iter: u64) -> Result<()> {
        let factor = self.factor(iter);
        (0..t.group_count()).try_for_each(|group| {
            let base = t.group_base_lr(group)?;
            t.set_group_lr(group, base * factor)
        })
    }
}

#[hook(mutates = "lr", writes = "nothing")]
impl Hook for IterRule {
    /// The first iteration, or the first after a checkpoint, needs its rate before the role is called.
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.set(t, t.iter() + 1)
    }

    fn on_lr_adjust(&mut self, t: &mut Trainer) -> Result<()> {
        self.set(t, t.iter() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_in_a_line_and_falls_with_the_root() {
        let rule = IterRule { warmup_iters: 4 };
        let found = [1, 2, 4, 16].map(|iter| rule.factor(iter));
        assert!(found.iter().zip([0.25, 0.5, 1.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
