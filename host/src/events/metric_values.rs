//! The latest and best values of all metrics, by phase and name.

use super::{EventStorage, Key};
use crate::exact;
use hookrack_plugin_api::{Better, Phase};
use serde::{Deserialize, Serialize};

/// The latest values of one metric in one phase.
struct Entry {
    phase: Phase,
    name: String,
    // Of an evaluation only the whole is logged, so that another metric may have this name there.
    step_key: Option<Key>,
    epoch_key: Key,
    step: Option<f64>,
    last: Option<f64>,
    better: Option<Better>,
    best: Option<(f64, u64)>,
}

/// The values of one metric in one phase.
pub struct MetricValue<'a> {
    /// The phase.
    pub phase: Phase,
    /// The metric, with the suffix of one of several values.
    pub name: &'a str,
    /// Which of two values is better.
    pub better: Option<Better>,
    /// The value of the last batch.
    pub step: Option<f64>,
    /// The value of the last whole pass.
    pub last: Option<f64>,
    /// The best value of any pass and its epoch, if the metric has a better direction.
    pub best: Option<(f64, u64)>,
}

/// The values of a metric in a phase, as saved in a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedMetric {
    /// The phase's code.
    pub phase: u32,
    /// The metric, with the suffix of one of several values.
    pub name: String,
    /// The value of the last batch.
    #[serde(with = "exact")]
    pub step: Option<f64>,
    /// The value of the last whole pass.
    #[serde(with = "exact")]
    pub last: Option<f64>,
    /// Which of two values is better.
    pub higher_is_better: Option<bool>,
    /// The best value of any pass.
    #[serde(with = "exact")]
    pub best: Option<f64>,
    /// Its epoch.
    pub best_epoch: u64,
}

/// The latest values of all metrics.
#[derive(Default)]
pub struct MetricValues {
    entries: Vec<Entry>,
}

impl MetricValues {
    /// The entry of a metric's value. Created with the first value; later lookups do not allocate.
    pub fn register(
        &mut self,
        phase: Phase,
        name: &str,
        suffix: &str,
        better: Option<Better>,
        events: &mut EventStorage,
    ) -> usize {
        let known =
            self.entries.iter().position(|e| e.phase == phase && is_named(&e.name, name, suffix));
        if let Some(index) = known {
            // An entry from a checkpoint may lack it.
            self.entries[index].better = better;
            return index;
        }
        let name = if suffix.is_empty() { name.to_owned() } else { format!("{name}.{suffix}") };
        let scoped = format!("{}/{name}", phase.name());
        let logs_steps = phase == Phase::Train;
        let step_key = logs_steps.then(|| events.key(&format!("{scoped}_step"), true));
        let epoch_key = events.key(&scoped, false);
        self.entries.push(Entry {
            phase,
            name,
            step_key,
            epoch_key,
            step: None,
            last: None,
            better,
            best: None,
        });
        self.entries.len() - 1
    }

    /// Stores the value of a batch; returns its key for the writers, if it is logged.
    pub fn put_step(&mut self, index: usize, value: f64) -> Option<Key> {
        let entry = &mut self.entries[index];
        entry.step = Some(value);
        entry.step_key
    }

    /// Stores the value of a whole pass; returns its key for the writers.
    pub fn put_epoch(&mut self, index: usize, value: f64, epoch: u64) -> Key {
        let entry = &mut self.entries[index];
        entry.last = Some(value);
        let is_best = entry.better.is_some_and(|better| match entry.best {
            Some((best, _)) => better.is_better(value, best),
            None => !value.is_nan(),
        });
        if is_best {
            entry.best = Some((value, epoch));
        }
        entry.epoch_key
    }

    /// The latest value of a metric, of the last batch or of the last whole pass.
    pub fn value(&self, phase: Phase, name: &str, is_step: bool) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.phase == phase && entry.name == name)?;
        if is_step { entry.step } else { entry.last }
    }

    /// Every value, as saved in a checkpoint.
    pub fn save(&self) -> Vec<SavedMetric> {
        let save = |e: &Entry| SavedMetric {
            phase: e.phase.code(),
            name: e.name.clone(),
            step: e.step,
            last: e.last,
            higher_is_better: e.better.map(|better| better == Better::Higher),
            best: e.best.map(|(value, _)| value),
            best_epoch: e.best.map_or(0, |(_, epoch)| epoch),
        };
        self.entries.iter().map(save).collect()
    }

    /// Restores every value.
    pub fn restore(&mut self, saved: Vec<SavedMetric>, events: &mut EventStorage) {
        for value in saved {
            let phase = Phase::from_code(value.phase);
            let better = value.higher_is_better.map(Better::of);
            let index = self.register(phase, &value.name, "", better, events);
            let entry = &mut self.entries[index];
            (entry.step, entry.last) = (value.step, value.last);
            entry.best = value.best.map(|best| (best, value.best_epoch));
        }
    }

    /// The values of each metric.
    pub fn iter(&self) -> impl Iterator<Item = MetricValue<'_>> {
        self.entries.iter().map(|e| MetricValue {
            phase: e.phase,
            name: &e.name,
            better: e.better,
            step: e.step,
            last: e.last,
            best: e.best,
        })
    }
}

/// Whether `full` is `name`, or `name.suffix`.
fn is_named(full: &str, name: &str, suffix: &str) -> bool {
    match full.strip_prefix(name) {
        Some("") => suffix.is_empty(),
        Some(rest) => !suffix.is_empty() && rest.strip_prefix('.') == Some(suffix),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_phase_name_and_suffix() {
        let (mut metrics, mut events) = (MetricValues::default(), EventStorage::default());
        let better = Some(Better::Higher);
        let plain = metrics.register(Phase::Val, "F1", "", better, &mut events);
        let macro_ = metrics.register(Phase::Val, "F1", "macro", better, &mut events);
        assert_ne!(plain, macro_);
        assert_eq!(metrics.register(Phase::Val, "F1", "macro", better, &mut events), macro_);
        let key = metrics.put_epoch(macro_, 0.5, 1);
        assert_eq!(events.series(key).unwrap().name().as_ref(), "val/F1.macro");
        assert_eq!(metrics.value(Phase::Val, "F1.macro", false), Some(0.5));
        assert_eq!(metrics.value(Phase::Val, "F1", false), None);
        assert_eq!(metrics.value(Phase::Train, "F1.macro", false), None);
    }

    #[test]
    fn a_metric_of_an_evaluation_may_be_named_as_the_steps_of_another() {
        let (mut metrics, mut events) = (MetricValues::default(), EventStorage::default());
        metrics.register(Phase::Val, "F1", "", None, &mut events);
        let other = metrics.register(Phase::Val, "F1_step", "", None, &mut events);
        let key = metrics.put_epoch(other, 0.5, 1);
        assert!(!events.series(key).unwrap().is_smooth(), "the console leaves out what is smooth");
        assert_eq!(metrics.put_step(other, 0.5), None);
        let train = metrics.register(Phase::Train, "F1", "", None, &mut events);
        let key = metrics.put_step(train, 0.5).unwrap();
        assert_eq!(events.series(key).unwrap().name().as_ref(), "train/F1_step");
    }

    #[test]
    fn nan_is_never_best() {
        for (better, best) in [(Better::Higher, 0.7), (Better::Lower, 0.2)] {
            let (mut metrics, mut events) = (MetricValues::default(), EventStorage::default());
            let index = metrics.register(Phase::Val, "x", "", Some(better), &mut events);
            for (epoch, value) in [f64::NAN, 0.7, 0.2, f64::NAN].into_iter().enumerate() {
                metrics.put_epoch(index, value, epoch as u64);
            }
            let value = metrics.iter().next().unwrap();
            assert!(value.last.is_some_and(f64::is_nan));
            assert_eq!(value.best.map(|(value, _)| value), Some(best));
        }
    }
}
