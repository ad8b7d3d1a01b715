//! `MomentumSchedulerHook`: moves the optimizer's momentum over the run.

use hookrack_plugin_api::prelude::*;

/// Anneals the momentum of every group, or Adam's first beta, from one value to another, then holds it.
#[derive(Settings)]
pub(super) struct MomentumSchedulerHook {
    /// Momentum of the first iteration.
    #[param(default = 0.85, min = 0.0, max = 1.0)]
    start: f64,
    /// Final momentum.
    #[param(default = 0.95, min = 0.0, max = 1.0)]
    end: f64,
    /// Iterations of the annealing; 0 for the whole run.
    #[param(default)]
    iters: u64,
    /// Shape of the annealing: a line, or half a cosine.
    #[param(default)]
    shape: Shape,
    #[param(skip)]
    key: Option<ScalarKey>,
}

/// How the momentum moves.
#[derive(Clone, Copy, Default, Settings)]
enum Shape {
    /// The same step each time.
    #[default]
    Linear,
    /// Slow at both ends.
    Cosine,
}

/// The momentum of an iteration; the first is 1.
#[expect(clippy::cast_precision_loss, reason = "a run has far fewer iterations than 2^53")]
fn momentum(shape: Shape, start: f64, end: f64, iter: u64, iters: u64) -> f64 {
    let part = (iter.saturating_sub(1) as f64 / iters.saturating_sub(1).max(1) as f64).min(1.0);
    let part = match shape {
        Shape::Linear => part,
        Shape::Cosine => (1.0 - (std::f64::consts::PI * part).cos()) / 2.0,
    };
    start + (end - start) * part
}

#[hook(level = HIGHER, mutates = "momentum", writes = "events, train/momentum", on_error = "abort")]
impl Hook for MomentumSchedulerHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        ensure!(
            t.group_momentum(0)?.is_some(),
            "this optimizer has no momentum to schedule: use SGD with momentum, or an Adam variant"
        );
        self.key = Some(t.scalar_key("train/momentum", false)?);
        Ok(())
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let iters = if self.iters > 0 { self.iters } else { t.max_iters() };
        let value = momentum(self.shape, self.start, self.end, t.iter(), iters);
        for group in 0..t.group_count() {
            t.set_group_momentum(group, value)?;
        }
        self.key.map_or(Ok(()), |key| t.put(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_momentum_goes_from_one_value_to_the_other_and_stays() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        for shape in [Shape::Linear, Shape::Cosine] {
            assert!(close(momentum(shape, 0.8, 0.9, 1, 11), 0.8));
            assert!(close(momentum(shape, 0.8, 0.9, 6, 11), 0.85));
            assert!(close(momentum(shape, 0.8, 0.9, 11, 11), 0.9));
            assert!(close(momentum(shape, 0.8, 0.9, 99, 11), 0.9));
        }
        assert!(
            momentum(Shape::Cosine, 0.8, 0.9, 2, 11) < momentum(Shape::Linear, 0.8, 0.9, 2, 11)
        );
    }
}
