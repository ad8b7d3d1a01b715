//! `Throughput`: samples per second of a pass.

use super::gathered::gathered;
use hookrack_plugin_api::prelude::*;
use std::time::Instant;

/// Samples per second, from the end of the first batch of a pass to the end of its last, hooks and data loading
/// included.
#[derive(Settings)]
pub(super) struct Throughput {
    #[param(skip)]
    clock: Clock,
}

/// Samples and the time they took.
#[derive(Default)]
struct Clock {
    samples: f64,
    seconds: f64,
    // Since when: the beginning of the pass, then the last batch.
    since: Option<Instant>,
    last: Option<f64>,
}

impl Clock {
    fn add(&mut self, samples: f64, now: Instant) {
        let seconds = self.since.map_or(0.0, |since| (now - since).as_secs_f64());
        self.since = Some(now);
        // The time before the first reading of the clock is unknown.
        if seconds > 0.0 {
            self.samples += samples;
            self.seconds += seconds;
            self.last = Some(samples / seconds);
        }
    }

    /// Processes run concurrently: their samples add up, their times do not.
    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.samples += other.value::<f64>("samples")?;
        self.seconds = self.seconds.max(other.value("seconds")?);
        Ok(())
    }

    fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("samples", self.samples)?;
        state.put("seconds", self.seconds)
    }
}

#[metric(better = "higher", unit = "samples/s")]
impl Metric for Throughput {
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.clock.add(t.batch_size() as f64, Instant::now());
        Ok(())
    }

    fn compute(&self) -> f64 {
        if self.clock.seconds > 0.0 { self.clock.samples / self.clock.seconds } else { f64::NAN }
    }

    fn step_value(&self) -> Option<f64> {
        self.clock.last
    }

    gathered!(clock);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn samples_count_from_the_second_reading_of_the_clock() {
        let (mut clock, start) = (Clock::default(), Instant::now());
        clock.add(100.0, start);
        assert!(clock.last.is_none());
        clock.add(8.0, start + Duration::from_secs(2));
        clock.add(8.0, start + Duration::from_secs(4));
        assert_eq!((clock.samples, clock.seconds, clock.last), (16.0, 4.0, Some(4.0)));
    }
}
