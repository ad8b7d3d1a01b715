//! `LogTimingByEpochHook`: how long epochs and their iterations took.

use hookrack_plugin_api::prelude::*;
use std::time::Instant;

/// Logs the duration of each epoch and of its iterations: the last one, and the mean so far.
#[derive(Settings)]
pub(super) struct LogTimingByEpochHook {
    /// Epochs between log lines.
    #[param(default = 1, min = 1)]
    interval: u64,
    /// Time evaluations too.
    #[param(default = true)]
    log_eval: bool,
    /// Training iterations to skip at the start, which include one-off work.
    #[param(default)]
    ignore_num_train_steps: u64,
    #[param(skip)]
    train: Timers,
    #[param(skip)]
    eval: Timers,
}

/// Timing of a repeated event, in seconds.
#[derive(Default)]
struct Timer {
    last: f64,
    sum: f64,
    count: f64,
}

impl Timer {
    fn add(&mut self, seconds: f64) {
        (self.last, self.sum, self.count) = (seconds, self.sum + seconds, self.count + 1.0);
    }

    fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }
}

/// The epochs and iterations of one phase.
#[derive(Default)]
struct Timers {
    epoch: Timer,
    step: Timer,
    epoch_began: Option<Instant>,
    step_began: Option<Instant>,
}

impl Timers {
    fn end_epoch(&mut self) {
        if let Some(began) = self.epoch_began.take() {
            self.epoch.add(began.elapsed().as_secs_f64());
        }
    }

    fn line(&self, steps: u64) -> String {
        let Self { epoch, step, .. } = self;
        format!(
            "epoch last = {:.3} s, mean = {:.3} s | iteration last = {:.3} ms, mean = {:.3} ms | \
             {steps} iterations per epoch",
            epoch.last,
            epoch.mean(),
            step.last * 1e3,
            step.mean() * 1e3,
        )
    }
}

#[hook(level = 48, reads = "time")]
impl Hook for LogTimingByEpochHook {
    fn before_train_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.train.epoch_began = Some(Instant::now());
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if t.iter() > self.ignore_num_train_steps {
            self.train.step.add(t.iter_time());
        }
        Ok(())
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.train.end_epoch();
        if t.epoch().is_multiple_of(self.interval) {
            info!("epoch {}, train: {}", t.epoch(), self.train.line(t.inner_len()));
        }
        Ok(())
    }

    fn before_eval_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.eval.epoch_began = Some(Instant::now());
        Ok(())
    }

    fn before_eval_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        self.eval.step_began = Some(Instant::now());
        Ok(())
    }

    fn after_eval_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        if let Some(began) = self.eval.step_began.take() {
            self.eval.step.add(began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.eval.end_epoch();
        if self.log_eval && t.epoch().is_multiple_of(self.interval) {
            let phase = t.phase().name();
            info!("epoch {}, {phase}: {}", t.epoch(), self.eval.line(t.inner_len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_last_time_and_the_mean_of_all() {
        let mut timers = Timers::default();
        for seconds in [1.0, 3.0] {
            timers.epoch.add(seconds);
            timers.step.add(seconds / 1000.0);
        }
        let line = timers.line(12);
        assert!(line.contains("epoch last = 3.000 s, mean = 2.000 s"), "{line}");
        assert!(line.contains("iteration last = 3.000 ms, mean = 2.000 ms"), "{line}");
        assert!(line.ends_with("12 iterations per epoch"), "{line}");
    }

    #[test]
    fn no_epoch_at_all_has_a_mean_of_zero() {
        assert!(Timers::default().line(1).contains("mean = 0.000 s"));
    }
}
