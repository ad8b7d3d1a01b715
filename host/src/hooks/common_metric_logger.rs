//! `CommonMetricLoggerHook`: a log line with progress, loss, learning rate, times, memory and remaining time.

use super::process_memory;
use hookrack_plugin_api::prelude::*;

/// How many values a median is taken over.
const WINDOW: usize = 20;

/// Logs the loss, the metrics of the epoch so far, the learning rate, iteration and data time, peak memory and the
/// estimated time left every few iterations.
#[derive(Settings)]
pub(super) struct CommonMetricLoggerHook {
    /// Iterations between log lines.
    #[param(default = 20, min = 1, alias = "period")]
    interval: u64,
    /// Iteration up to which the time left is estimated. Default: the last one of the run.
    max_iter: Option<u64>,
    /// Last epoch as shown in the line. Default: that of the run.
    max_epoch: Option<u64>,
    #[param(skip)]
    keys: Option<[ScalarKey; 3]>,
}

/// `1:02:03`, or `2 days, 1:02:03`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes an integer by saturation, and the time left is shown as it is"
)]
fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let time = format!("{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    match days {
        0 => time,
        1 => format!("1 day, {time}"),
        days => format!("{days} days, {time}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has far fewer iterations than 2^53")]
fn eta(seconds_each: f64, done: u64, all: u64) -> String {
    clock(seconds_each * all.saturating_sub(done) as f64)
}

/// The values of training metrics in the epoch so far.
fn so_far(t: &Trainer) -> Result<Vec<String>> {
    let mut parts = Vec::new();
    for metric in t.metric_objects()?.iter().filter(|metric| metric.phase == Phase::Train) {
        if let Some(value) = metric.so_far()? {
            parts.push(format!("{} {value:.4} {}", metric.name, metric.unit).trim_end().to_owned());
        }
    }
    Ok(parts)
}

impl CommonMetricLoggerHook {
    fn line(&self, t: &Trainer) -> Result<String> {
        let mut parts = Vec::new();
        let max_iter = self.max_iter.unwrap_or(t.max_iters());
        let max_epoch = self.max_epoch.unwrap_or(t.max_epochs());
        if let Some([loss, time, data_time]) = self.keys {
            if let Some(time) = t.median(time, WINDOW)? {
                parts.push(format!("eta {}", eta(time, t.iter(), max_iter)));
            }
            parts.push(format!("epoch {}/{max_epoch}  iter {}/{max_iter}", t.epoch(), t.iter()));
            if let Some(loss) = t.median(loss, WINDOW)? {
                parts.push(format!("loss {loss:.4}"));
            }
            parts.extend(so_far(t)?);
            parts.push(format!("lr {:.3e}", t.lr()));
            for (name, key) in [("time", time), ("data_time", data_time)] {
                if let Some(seconds) = t.median(key, WINDOW)? {
                    parts.push(format!("{name} {seconds:.4} s"));
                }
            }
        }
        let memory = process_memory::of_process();
        parts.extend(memory.map(|memory| format!("max_mem {:.0} MiB", memory.peak)));
        Ok(parts.join("  "))
    }
}

#[hook(level = 51, reads = "events, metrics, lr")]
impl Hook for CommonMetricLoggerHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        let key = |name| t.scalar_key(name, true);
        self.keys = Some([key("train/loss")?, key("train/time")?, key("train/data_time")?]);
        Ok(())
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let is_last = t.iter() == t.max_iters();
        if is_last || t.iter().is_multiple_of(self.interval) {
            info!("{}", self.line(t)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_what_the_iterations_left_take() {
        assert_eq!(eta(0.5, 10, 130), "0:01:00");
        assert_eq!(eta(0.5, 130, 130), "0:00:00");
        assert_eq!(eta(1.0, 200, 130), "0:00:00");
        assert_eq!(clock(3723.4), "1:02:03");
        assert_eq!(clock(90_000.0), "1 day, 1:00:00");
        assert_eq!(clock(176_523.0), "2 days, 1:02:03");
    }
}
