//! What the engine keeps in a checkpoint beside model and optimizer.

use super::Engine;
use super::error::Result;
use crate::SavedState;
use crate::memory_format::MemoryFormat;
use crate::saved_state::FROZEN;
use hookrack_plugin_api::Value;

const LR_SCHEDULE: &str = "lr_schedule";
const MEMORY_FORMAT: &str = "memory_format";
const TOLD_AT: &str = "lr_schedule_told_at";

fn lr_key(group: usize) -> String {
    format!("lr.{group}")
}

impl SavedState {
    /// The memory format of an engine that was saved.
    pub fn memory_format(&self) -> Option<MemoryFormat> {
        self.values.get(MEMORY_FORMAT).and_then(Value::as_str).and_then(MemoryFormat::named)
    }
}

impl Engine {
    /// Everything but weights and optimizer state: which parameters are frozen, the state of a schedule that monitors a
    /// metric, the memory format, and learning rates that a hook has changed.
    pub fn state(&self) -> SavedState {
        let mut state = SavedState::default();
        let frozen = self.frozen().into_iter().map(Value::Str).collect();
        state.values.insert(FROZEN.to_owned(), Value::List(frozen));
        state.values.insert(LR_SCHEDULE.to_owned(), self.lr_schedule().state());
        let told_at = self.told_at.and_then(|iter| i64::try_from(iter).ok());
        state.values.extend(told_at.map(|iter| (TOLD_AT.to_owned(), Value::Int(iter))));
        state.values.insert(MEMORY_FORMAT.to_owned(), self.memory_format().name().into());
        for (index, group) in self.optimizer().groups().iter().enumerate() {
            let scheduled = self.scheduled_lr(group.base_lr);
            // Scheduled rates follow from the step, so that a changed `lr` in the config takes effect.
            if group.lr.to_bits() != scheduled.to_bits() {
                state.values.insert(lr_key(index), group.lr.into());
            }
        }
        state
    }

    /// Restores which parameters are frozen, and the schedule. Must be called before the optimizer's state is loaded: only trained parameters have state.
    pub fn recall(&mut self, state: &SavedState) -> Result<()> {
        if let Some(schedule) = state.values.get(LR_SCHEDULE) {
            self.lr_schedule_mut().load_state(schedule);
        }
        if let Some(Value::Int(iter)) = state.values.get(TOLD_AT) {
            self.told_at = u64::try_from(*iter).ok();
        }
        let Some(Value::List(names)) = state.values.get(FROZEN) else { return Ok(()) };
        let names: Vec<_> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        self.set_frozen(&names)
    }

    /// Restores the rest. The step of the learning rate schedule must have been restored.
    pub fn load_state(&mut self, state: &SavedState) -> Result<()> {
        for group in 0..self.group_count() {
            if let Some(Value::Float(lr)) = state.values.get(&lr_key(group)) {
                self.group_mut(group)?.lr = *lr;
            }
        }
        Ok(())
    }
}
