//! `ThroughputHook`: samples a second, in training and in evaluation.

use hookrack_plugin_api::prelude::*;
use std::time::Instant;

/// Logs `throughput`, samples per second: of each training iteration, and of each evaluation as a whole.
#[derive(Settings)]
pub(super) struct ThroughputHook {
    /// Training iterations to skip after each start or resume, which include one-off work.
    #[param(default)]
    ignored_steps: u64,
    #[param(skip)]
    done: u64,
    /// Floating point operations per iteration, in 10¹²; if set, `tflops` is logged too.
    #[param(default, min = 0)]
    tflop_per_step: f64,
    /// Count the samples of this process only, instead of all processes. No effect with a single process.
    #[param(default)]
    use_local: bool,
    #[param(skip)]
    keys: Option<[ScalarKey; 2]>,
    #[param(skip)]
    train: Rate,
    #[param(skip)]
    eval: Rate,
    #[param(skip)]
    eval_began: Option<Instant>,
}

/// Samples, and the seconds that they took.
#[derive(Clone, Copy, Default)]
struct Rate {
    samples: f64,
    seconds: f64,
}

impl Rate {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn add(&mut self, samples: u64, seconds: f64) {
        self.samples += samples as f64;
        self.seconds += seconds;
    }

    /// Samples per second; NaN if no time has passed.
    fn value(self) -> f64 {
        if self.seconds > 0.0 { self.samples / self.seconds } else { f64::NAN }
    }
}

impl ThroughputHook {
    /// Samples of the batch.
    fn samples(&self, t: &Trainer) -> u64 {
        let processes = if self.use_local { 1 } else { u64::from(t.world_size()).max(1) };
        t.batch_size() * processes
    }
}

#[hook(
    level = 18,
    reads = "time",
    writes = "events, train/throughput, train/tflops, train/throughput_epoch, val/throughput, test/throughput"
)]
impl Hook for ThroughputHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.keys =
            Some([t.scalar_key("train/throughput", true)?, t.scalar_key("train/tflops", true)?]);
        Ok(())
    }

    fn before_train_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.train = Rate::default();
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let Some([throughput, tflops]) = self.keys else { return Ok(()) };
        self.done += 1;
        if self.done <= self.ignored_steps {
            return Ok(());
        }
        let (samples, seconds) = (self.samples(t), t.iter_time());
        self.train.add(samples, seconds);
        let mut step = Rate::default();
        step.add(samples, seconds);
        t.put(throughput, step.value())?;
        if self.tflop_per_step > 0.0 {
            t.put(tflops, self.tflop_per_step / seconds)
        } else {
            Ok(())
        }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        if self.train.samples > 0.0 {
            let key = t.scalar_key("train/throughput_epoch", false)?;
            t.put(key, self.train.value())?;
        }
        Ok(())
    }

    fn before_eval_epoch(&mut self, _t: &mut Trainer) -> Result<()> {
        self.eval = Rate::default();
        Ok(())
    }

    fn before_eval_iter(&mut self, _t: &mut Trainer) -> Result<()> {
        self.eval_began = Some(Instant::now());
        Ok(())
    }

    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        if let Some(began) = self.eval_began.take() {
            self.eval.add(self.samples(t), began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let key = t.scalar_key("throughput", false)?;
        t.put(key, self.eval.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_divided_by_the_time_of_all_of_them() {
        let mut rate = Rate::default();
        assert!(rate.value().is_nan());
        rate.add(10, 1.0);
        rate.add(30, 3.0);
        assert!((rate.value() - 10.0).abs() < 1e-12);
    }
}
