//! `LogMetricByEpochHook`: a log line with the results of a pass.

use hookrack_plugin_api::prelude::*;

/// Logs the metrics and unsmoothed scalars of each pass every few epochs.
#[derive(Settings)]
pub(super) struct LogMetricByEpochHook {}

/// The values of a phase in one line.
fn line(
    values: impl IntoIterator<Item = (String, f64)>,
    phase: &str,
    unit: impl Fn(&str) -> String,
) -> String {
    let mut parts = Vec::new();
    for (name, value) in values {
        if let Some((of, name)) = name.split_once('/')
            && of == phase
        {
            let part = format!("{name} = {} {}", number(value), unit(name));
            parts.push(part.trim_end().to_owned());
        }
    }
    parts.join(" | ")
}

/// Four digits, and an exponent where they would all be zero.
fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.4e}") } else { format!("{value:.4}") }
}

fn log(t: &Trainer) -> Result<()> {
    let (phase, iter) = (t.phase().name(), t.iter());
    // A scalar that is not smoothed describes a whole pass; one logged earlier belongs to an earlier pass.
    let fresh = t.scalars()?.into_iter().filter(|one| !one.smooth && one.iter == iter);
    let metrics = t.metric_objects()?;
    let unit = |name: &str| {
        let known = |metric: &&MetricObject| metric.phase == t.phase() && metric.is_of(name);
        metrics.iter().find(known).map(|metric| metric.unit.clone()).unwrap_or_default()
    };
    let line = line(fresh.map(|one| (one.name, one.latest)), phase, unit);
    if !line.is_empty() {
        info!("epoch {}, {phase}: {line}", t.epoch());
    }
    Ok(())
}

#[hook(level = 47, every = "1ep", reads = "metrics, events")]
impl Hook for LogMetricByEpochHook {
    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        log(t)
    }

    fn after_eval_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        log(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_values_of_its_phase() {
        let values = [("val/loss", 0.25), ("train/lr", 1e-5), ("val/F1.macro", f64::NAN)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let line =
            |phase: &str| {
                line(values.clone(), phase, |name| {
                    if name == "loss" { "nat".into() } else { String::new() }
                })
            };
        assert_eq!(line("val"), "loss = 0.2500 nat | F1.macro = NaN");
        assert_eq!(line("train"), "lr = 1.0000e-5");
        assert_eq!(line("test"), "");
        assert_eq!(number(0.0), "0.0000");
    }
}
