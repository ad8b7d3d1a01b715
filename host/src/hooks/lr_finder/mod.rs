//! `LRFinder`: a range test of the learning rate, with a curve to look at and a rate to begin with.

mod curve;
mod plot;

use curve::Curve;
use hookrack_plugin_api::prelude::*;

/// Learning rate range test: increases the rate at each iteration, records the loss, and ends the run with a
/// suggestion in `lr_finder.svg` and `lr_finder.json` of the run directory.
#[derive(Settings)]
pub(super) struct LrFinder {
    /// Learning rate of the first iteration.
    #[param(default = 1e-7, min = 1e-12)]
    min_lr: f64,
    /// Learning rate of the last iteration.
    #[param(default = 1.0, min = 1e-12)]
    max_lr: f64,
    /// Iterations of the test; a shorter run tests a smaller range.
    #[param(default = 100, min = 2)]
    num_iters: u64,
    /// Increase the rate by a factor at each iteration, or by a constant.
    #[param(default)]
    mode: Growth,
    /// Stop the test when the smoothed loss exceeds its best by this factor; 0 for never.
    #[param(default = 4.0, min = 0)]
    early_stop_threshold: f64,
    #[param(state)]
    curve: Curve,
    #[param(state)]
    done: bool,
}

/// How the rate grows.
#[derive(Clone, Copy, Default, Settings)]
enum Growth {
    /// By the same factor each time.
    #[default]
    Exponential,
    /// By the same amount each time.
    Linear,
}

/// The rate of an iteration; the first is 1.
#[expect(clippy::cast_precision_loss, reason = "a test has far fewer iterations than 2^53")]
fn rate(mode: Growth, min: f64, max: f64, iter: u64, iters: u64) -> f64 {
    let part = iter.saturating_sub(1) as f64 / iters.saturating_sub(1).max(1) as f64;
    match mode {
        Growth::Exponential => min * (max / min).powf(part),
        Growth::Linear => min + (max - min) * part,
    }
}

impl LrFinder {
    fn rate(&self, iter: u64) -> f64 {
        rate(self.mode, self.min_lr, self.max_lr, iter, self.num_iters)
    }

    fn finish(&mut self, t: &mut Trainer) -> Result<()> {
        self.done = true;
        if t.run_dir().is_some() {
            t.write_file("lr_finder.json", self.curve.json())?;
            t.write_file("lr_finder.svg", plot::svg(&self.curve, self.curve.suggestion()))?;
        }
        self.stop(t)
    }

    /// Ends the run with the result of the test.
    fn stop(&self, t: &mut Trainer) -> Result<()> {
        match self.curve.suggestion() {
            Some(lr) => t.request_stop(&format!(
                "learning rate test complete: the loss decreases fastest at {lr:.2e}, see lr_finder.svg"
            )),
            None => t.request_stop("learning rate test complete: the loss never decreased"),
        }
    }
}

#[hook(level = 3, mutates = "lr", reads = "loss")]
impl Hook for LrFinder {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        ensure!(
            self.min_lr < self.max_lr,
            "min_lr = {} is not below max_lr = {}",
            self.min_lr,
            self.max_lr
        );
        // A resumed run goes on where it stands, and a test that is complete stays so.
        t.set_lr(self.rate(t.iter() + 1))?;
        if self.done { self.stop(t) } else { Ok(()) }
    }

    fn after_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        if self.done {
            return Ok(());
        }
        let loss = t.loss()?.item()?;
        self.curve.push(t.lr(), loss);
        let diverged = self.curve.is_diverging(self.early_stop_threshold);
        let is_last = t.iter() >= self.num_iters || t.iter() >= t.max_iters();
        if diverged || is_last { self.finish(t) } else { Ok(()) }
    }

    fn on_lr_adjust(&mut self, t: &mut Trainer) -> Result<()> {
        t.set_lr(self.rate(t.iter() + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_goes_from_the_least_to_the_most() {
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        for mode in [Growth::Exponential, Growth::Linear] {
            assert!(close(rate(mode, 1e-6, 1.0, 1, 101), 1e-6));
            assert!(close(rate(mode, 1e-6, 1.0, 101, 101), 1.0));
        }
        assert!(close(rate(Growth::Exponential, 1e-6, 1.0, 51, 101), 1e-3));
        assert!(close(rate(Growth::Linear, 1.0, 3.0, 51, 101), 2.0));
    }
}
