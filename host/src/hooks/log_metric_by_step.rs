//! `LogMetricByStepHook`: shares the metrics of the last batch with other hooks and the progress line.

use hookrack_plugin_api::prelude::*;

/// Shares the metrics of the last batch with other hooks as `step_metrics`, by name, and logs them every few
/// iterations.
#[derive(Settings)]
pub(super) struct LogMetricByStepHook {
    /// Iterations between log lines; 0 for none.
    #[param(default)]
    interval: u64,
}

/// The values of a phase's last batch, by name.
fn of_phase(readings: &[MetricReading], phase: Phase) -> Vec<(String, f64)> {
    let steps = readings.iter().filter(|reading| reading.phase == phase);
    steps.filter_map(|reading| Some((reading.name.clone(), reading.step?))).collect()
}

fn line(values: &[(String, f64)]) -> String {
    let shown: Vec<_> = values.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    shown.join(" | ")
}

impl LogMetricByStepHook {
    fn share(&self, t: &mut Trainer, count: u64) -> Result<()> {
        let values = of_phase(&t.metrics()?, t.phase());
        if values.is_empty() {
            return Ok(());
        }
        if self.interval > 0 && count.is_multiple_of(self.interval) {
            info!("{} iteration {count}: {}", t.phase().name(), line(&values));
        }
        let table = values.into_iter().map(|(name, value)| (name, Value::Float(value)));
        t.put_state("step_metrics", Value::Table(table.collect()))
    }
}

#[hook(level = 46, reads = "metrics", writes = "step_metrics")]
impl Hook for LogMetricByStepHook {
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.share(t, t.iter())
    }

    fn after_eval_iter(&mut self, t: &mut Trainer) -> Result<()> {
        self.share(t, t.inner_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(name: &str, phase: Phase, step: Option<f64>) -> MetricReading {
        MetricReading { name: name.into(), phase, higher_is_better: None, step, epoch: None }
    }

    #[test]
    fn only_this_phase_and_only_what_has_a_value_of_the_batch_is_shared() {
        let readings = [
            reading("Accuracy", Phase::Train, Some(0.5)),
            reading("Accuracy", Phase::Val, Some(0.75)),
            reading("AUROC", Phase::Train, None),
            reading("Loss", Phase::Train, Some(1.25)),
        ];
        let values = of_phase(&readings, Phase::Train);
        assert_eq!(line(&values), "Accuracy 0.5000 | Loss 1.2500");
        assert_eq!(of_phase(&readings, Phase::Test), []);
    }
}
