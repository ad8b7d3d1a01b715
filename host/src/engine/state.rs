//! What the engine keeps in a checkpoint beside model and optimizer.

use super::Engine;
use super::error::Result;
use crate::saved_state::SavedState;
use hookrack_plugin_api::Value;

fn lr_key(group: usize) -> String {
    format!("lr.{group}")
}

impl Engine {
    /// What is neither a weight nor the optimizer's: learning rates that a hook has set away from the schedule.
    pub fn state(&self) -> SavedState {
        let mut state = SavedState::default();
        for (index, group) in self.optimizer().groups().iter().enumerate() {
            let scheduled = self.scheduled_lr(group.base_lr);
            // Those on the schedule follow from the position: a changed `lr` in the config stays in force.
            if group.lr.to_bits() != scheduled.to_bits() {
                state.values.insert(lr_key(index), group.lr.into());
            }
        }
        state
    }

    /// Puts that back. The learning rate's position is put back before it.
    pub fn load_state(&mut self, state: &SavedState) -> Result<()> {
        for group in 0..self.group_count() {
            if let Some(Value::Float(lr)) = state.values.get(&lr_key(group)) {
                self.set_group_lr(group, *lr)?;
            }
        }
        Ok(())
    }
}
