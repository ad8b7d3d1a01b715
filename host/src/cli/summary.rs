//! The summary of a run: outcome, metrics, time of each hook.

use crate::events::Series;
use crate::run::RunDir;
use crate::train::{Ending, Trainer};
use crate::writers::human;
use hookrack_plugin_api::Phase;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;

/// How many hooks are listed.
const SHOWN: usize = 6;

/// The metrics as JSON: last and best value by full name.
pub(super) fn metrics_json(trainer: &Trainer) -> Json {
    let metrics = trainer.context().metrics.borrow();
    let entry = |value: crate::events::MetricValue<'_>| {
        let best = value.best.map(|(best, epoch)| json!({ "value": best, "epoch": epoch }));
        let name = format!("{}/{}", value.phase.name(), value.name);
        (name, json!({ "last": value.last, "best": best }))
    };
    Json::Object(metrics.iter().map(entry).collect())
}

/// Seconds by phase.
pub(super) fn phases_json(trainer: &Trainer) -> Json {
    let phases = phases(trainer).into_iter();
    Json::Object(
        phases.map(|(phase, time)| (phase.name().into(), time.as_secs_f64().into())).collect(),
    )
}

fn phases(trainer: &Trainer) -> Vec<(Phase, Duration)> {
    trainer.context().clock.spent(trainer.context().phase())
}

/// A warning for users of the model: NaN weights or losses do not end a run.
pub(super) fn warning(trainer: &Trainer) -> Option<String> {
    let context = trainer.context();
    let weights = context.engine.borrow().has_finite_params();
    let loss = context.events.borrow().named("train/loss").and_then(Series::latest);
    match (weights, loss) {
        (Ok(false), _) => Some(
            "the weights are NaN or infinite: lower the learning rate, clip gradients, or add NaNGuard, which stops a run \
             before that; earlier checkpoints may be usable"
                .to_owned(),
        ),
        (_, Some(loss)) if !loss.is_finite() => Some(format!(
            "the last training loss was {loss}: lower the learning rate, clip gradients, or add NaNGuard"
        )),
        _ => None,
    }
}

/// The outcome as one object, for `--json`.
pub(super) fn json(trainer: &Trainer, ending: &Ending) -> Json {
    let (outcome, why) = ending.describe();
    let progress = trainer.context().progress.get();
    json!({
        "outcome": outcome,
        "why": why,
        "epoch": progress.epoch,
        "iter": progress.iter,
        "metrics": metrics_json(trainer),
        "phases": phases_json(trainer),
        "warning": warning(trainer),
    })
}

fn cost_lines(trainer: &Trainer) -> Vec<String> {
    let costs = trainer.costs();
    let line = |cost: &crate::dispatch::HookCost| {
        let (total, calls) = (cost.total(), cost.calls());
        let each = total.as_secs_f64() * 1e6
            / f64::from(u32::try_from(calls).unwrap_or(u32::MAX)).max(1.0);
        format!("{:<24} {:>9}  {calls:>8} calls  {each:>9.1} µs each", cost.name, human(total))
    };
    costs.iter().filter(|cost| cost.calls() > 0).map(line).collect()
}

/// Writes the summary to the log.
pub(super) fn log(trainer: &Trainer, ending: &Ending) {
    let (outcome, why) = ending.describe();
    tracing::info!(outcome, why, "the run ended");
    for line in cost_lines(trainer) {
        tracing::info!("hook cost: {line}");
    }
}

/// Prints the summary.
pub(super) fn print(
    trainer: &Trainer,
    ending: &Ending,
    run: Option<&RunDir>,
    report: Option<&Path>,
) {
    let (outcome, why) = ending.describe();
    let progress = trainer.context().progress.get();
    let reason = if why.is_empty() { String::new() } else { format!(" ({why})") };
    say!("\n{outcome}{reason} after {} epochs, {} iterations", progress.epoch, progress.iter);
    if let Some(warning) = warning(trainer) {
        say!("  warning: {warning}");
    }
    for value in trainer.context().metrics.borrow().iter() {
        let Some(last) = value.last else { continue };
        let name = format!("{}/{}", value.phase.name(), value.name);
        let best = value.best.map(|(value, epoch)| format!("   best {value:.4} in epoch {epoch}"));
        say!("  {name:<24} {last:>9.4}{}", best.unwrap_or_default());
    }
    let phases: Vec<_> = phases(trainer)
        .into_iter()
        .map(|(phase, time)| format!("{} {}", phase.name(), human(time)))
        .collect();
    say!("time: {}", phases.join(", "));
    say!("time in hooks:");
    for line in cost_lines(trainer).iter().take(SHOWN) {
        say!("  {line}");
    }
    if let Some(report) = report {
        say!("report: {}", report.display());
    }
    if let Some(run) = run {
        say!("run directory: {}", run.path().display());
    }
}
