//! What the engine keeps in a checkpoint beside model and optimizer.

use super::Engine;
use super::error::Result;
use crate::SavedState;
use hookrack_plugin_api::Value;

const FROZEN: &str = "frozen";
const LR_SCHEDULE: &str = "lr_schedule";
const TOLD_AT: &str = "lr_schedule_told_at";

fn lr_key(group: usize) -> String {
    format!("lr.{group}")
}

impl Engine {
    /// What is neither a weight nor the optimizer's: which parameters are frozen, what the schedule has seen of its
    /// metric, and learning rates that a hook has set away from the schedule.
    pub fn state(&self) -> SavedState {
        let mut state = SavedState::default();
        let frozen = self.frozen().into_iter().map(Value::Str).collect();
        state.values.insert(FROZEN.to_owned(), Value::List(frozen));
        state.values.insert(LR_SCHEDULE.to_owned(), self.lr_schedule().memory());
        let told_at = self.told_at.and_then(|iter| i64::try_from(iter).ok());
        state.values.extend(told_at.map(|iter| (TOLD_AT.to_owned(), Value::Int(iter))));
        for (index, group) in self.optimizer().groups().iter().enumerate() {
            let scheduled = self.scheduled_lr(group.base_lr);
            // Those on the schedule follow from the position: a changed `lr` in the config stays in force.
            if group.lr.to_bits() != scheduled.to_bits() {
                state.values.insert(lr_key(index), group.lr.into());
            }
        }
        state
    }

    /// Freezes what was frozen, and has the schedule remember. Comes before the optimizer's state: what is trained decides what has any.
    pub fn recall(&mut self, state: &SavedState) -> Result<()> {
        if let Some(memory) = state.values.get(LR_SCHEDULE) {
            self.lr_schedule_mut().recall(memory);
        }
        if let Some(Value::Int(iter)) = state.values.get(TOLD_AT) {
            self.told_at = u64::try_from(*iter).ok();
        }
        let Some(Value::List(names)) = state.values.get(FROZEN) else { return Ok(()) };
        let names: Vec<_> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        self.set_frozen(&names)
    }

    /// Puts the rest back. The learning rate's position is put back before it.
    pub fn load_state(&mut self, state: &SavedState) -> Result<()> {
        for group in 0..self.group_count() {
            if let Some(Value::Float(lr)) = state.values.get(&lr_key(group)) {
                self.group_mut(group)?.lr = *lr;
            }
        }
        Ok(())
    }
}
