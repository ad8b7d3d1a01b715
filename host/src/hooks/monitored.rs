//! A value that a hook watches, by name: `val/Accuracy`, `val/loss`, `train/grad_norm`.

use hookrack_plugin_api::Better;
use hookrack_plugin_api::prelude::*;

/// Which of two values is better.
#[derive(Clone, Copy, Debug, Default, Settings, PartialEq)]
pub(super) enum MonitorMode {
    /// As the metric says; for other scalars, a lower loss or error is better.
    #[default]
    Auto,
    /// The lower one.
    Min,
    /// The higher one.
    Max,
}

/// The latest value of a scalar or metric, and which direction is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Monitored {
    pub(super) value: f64,
    pub(super) better: Better,
}

/// The phase that a full name begins with.
pub(super) fn phase_of(name: &str) -> Option<Phase> {
    let phase = name.split_once('/')?.0;
    [Phase::Train, Phase::Val, Phase::Test].into_iter().find(|known| known.name() == phase)
}

/// Reads a value by its full name; `None` before there is one.
pub(super) fn read(t: &Trainer, name: &str, mode: MonitorMode) -> Result<Option<Monitored>> {
    let metric = match parts(name) {
        Some((phase, short)) => t.metric(phase, short)?,
        None => None,
    };
    let value = match metric {
        Some(value) => Some(value),
        None => t.scalars()?.into_iter().find(|one| one.name == name).map(|one| one.latest),
    };
    let Some(value) = value else { return Ok(None) };
    Ok(Some(Monitored { value, better: direction(t, name, mode)? }))
}

/// Reads a value after a pass that should have logged it. A missing value of the validation that just ended is an error;
/// another may be logged later, which is reported.
pub(super) fn expect(t: &Trainer, name: &str, mode: MonitorMode) -> Result<Option<Monitored>> {
    let reading = read(t, name, mode)?;
    if reading.is_none() {
        ensure!(
            !(t.phase() == Phase::Val && phase_of(name) == Some(Phase::Val)),
            "the validation did not log `{name}`; it logged {}",
            present(t, "val/")?
        );
        warn!("nothing has logged `{name}` yet");
    }
    Ok(reading)
}

/// The scalars with this prefix, for a message.
fn present(t: &Trainer, beginning: &str) -> Result<String> {
    let names = t.scalars()?.into_iter().map(|one| one.name);
    let names: Vec<_> = names.filter(|name| name.starts_with(beginning)).collect();
    Ok(if names.is_empty() { "no scalars".to_owned() } else { names.join(", ") })
}

/// Which direction is better; known before there is a value.
pub(super) fn direction(t: &Trainer, name: &str, mode: MonitorMode) -> Result<Better> {
    let metric = match parts(name) {
        Some((phase, short)) => t.metric_object(phase, short)?,
        None => None,
    };
    let metric = metric.and_then(|metric| metric.higher_is_better);
    direction_of(name, mode, metric.map(Better::of))
}

/// Phase and short name of a full one.
fn parts(name: &str) -> Option<(Phase, &str)> {
    Some((phase_of(name)?, name.split_once('/')?.1))
}

/// The direction of the setting, else of the metric, else of the name.
fn direction_of(name: &str, mode: MonitorMode, metric: Option<Better>) -> Result<Better> {
    let is_loss = || name.contains("loss") || name.contains("error");
    match (mode, metric) {
        (MonitorMode::Max, _) => Ok(Better::Higher),
        (MonitorMode::Min, _) => Ok(Better::Lower),
        (MonitorMode::Auto, Some(better)) => Ok(better),
        (MonitorMode::Auto, None) if is_loss() => Ok(Better::Lower),
        (MonitorMode::Auto, None) => {
            bail!(
                "it is not known whether a higher `{name}` is better: set mode = \"min\" or \"max\""
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_wins_over_the_metric_and_the_metric_over_the_name() {
        let (higher, lower) = (Better::Higher, Better::Lower);
        let found = |name, mode, metric| direction_of(name, mode, metric).unwrap();
        assert_eq!(found("val/Accuracy", MonitorMode::Min, Some(higher)), lower);
        assert_eq!(found("val/my_loss", MonitorMode::Auto, Some(higher)), higher);
        assert_eq!(found("val/loss", MonitorMode::Auto, None), lower);
        let error = direction_of("val/x", MonitorMode::Auto, None).unwrap_err().to_string();
        assert!(error.contains("`val/x`") && error.contains("mode"), "{error}");
    }

    #[test]
    fn a_name_without_a_phase_has_none() {
        assert_eq!(phase_of("val/loss"), Some(Phase::Val));
        assert_eq!(phase_of("hook/ema/x"), None);
        assert_eq!(phase_of("loss"), None);
    }
}
