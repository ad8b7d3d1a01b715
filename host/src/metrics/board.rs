//! The values of all metrics by phase and name: what `states.metrics` gives every hook.

use crate::events::{EventStorage, Key};
use hookrack_plugin_api::Phase;

/// The latest values of one metric in one phase.
struct Entry {
    phase: Phase,
    name: String,
    step_key: Key,
    epoch_key: Key,
    step: Option<f64>,
    epoch: Option<f64>,
}

/// The latest values of all metrics.
#[derive(Default)]
pub struct Board {
    entries: Vec<Entry>,
}

impl Board {
    /// The place of a metric's value. Made at the first value; found without allocating after that.
    pub fn slot(&mut self, phase: Phase, name: &str, suffix: &str, events: &mut EventStorage) -> usize {
        let known = self.entries.iter().position(|e| e.phase == phase && is_named(&e.name, name, suffix));
        known.unwrap_or_else(|| {
            let name = if suffix.is_empty() { name.to_owned() } else { format!("{name}.{suffix}") };
            let scoped = format!("{}/{name}", phase.name());
            let step_key = events.key(&format!("{scoped}_step"), true);
            let epoch_key = events.key(&scoped, false);
            self.entries.push(Entry { phase, name, step_key, epoch_key, step: None, epoch: None });
            self.entries.len() - 1
        })
    }

    /// Keeps a value; gives the key under which it goes to the writers.
    pub fn put(&mut self, slot: usize, is_step: bool, value: f64) -> Key {
        let entry = &mut self.entries[slot];
        if is_step {
            entry.step = Some(value);
            entry.step_key
        } else {
            entry.epoch = Some(value);
            entry.epoch_key
        }
    }

    /// The latest value of a metric, of the last batch or of the last whole pass.
    pub fn value(&self, phase: Phase, name: &str, is_step: bool) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| entry.phase == phase && entry.name == name)?;
        if is_step { entry.step } else { entry.epoch }
    }

    /// All values of the last passes: phase, name, value.
    pub fn epoch_values(&self) -> impl Iterator<Item = (Phase, &str, f64)> {
        self.entries.iter().filter_map(|e| Some((e.phase, e.name.as_str(), e.epoch?)))
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
        let (mut board, mut events) = (Board::default(), EventStorage::default());
        let plain = board.slot(Phase::Val, "F1", "", &mut events);
        let macro_ = board.slot(Phase::Val, "F1", "macro", &mut events);
        assert_ne!(plain, macro_);
        assert_eq!(board.slot(Phase::Val, "F1", "macro", &mut events), macro_);
        let key = board.put(macro_, false, 0.5);
        assert_eq!(events.series(key).unwrap().name().as_ref(), "val/F1.macro");
        assert_eq!(board.value(Phase::Val, "F1.macro", false), Some(0.5));
        assert_eq!(board.value(Phase::Val, "F1", false), None);
        assert_eq!(board.value(Phase::Train, "F1.macro", false), None);
    }
}
