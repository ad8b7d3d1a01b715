//! Trainable parameters and the groups of the optimizer.

use super::Trainer;
use crate::error::Result;

/// Parameters and optimizer groups (extension `hookrack.params/1`). An index that does not exist is an error.
impl Trainer {
    /// Whether the parameter at `index` of [`params`](Self::params) is trained.
    pub fn is_trainable(&self, index: usize) -> Result<bool> {
        self.host.trainable(index)
    }

    /// Freezes or unfreezes the parameters whose names match `pattern`, and returns their number.
    ///
    /// In a pattern `*` matches any characters, including dots, `?` one, `{a,b}` either and `[ab]` one of them: `encoder.*`, `*.bias`. Parameters frozen here keep their optimizer state; those that the config froze
    /// get new state when they are unfrozen. Takes effect in the next forward pass.
    ///
    /// # Errors
    /// No parameter matches (the message has the nearest names), or no trainable parameter would be left.
    pub fn set_trainable(&mut self, pattern: &str, trainable: bool) -> Result<usize> {
        self.host.set_trainable(pattern, trainable)
    }

    /// The index of the optimizer group of the parameter at `index` of [`params`](Self::params).
    pub fn group_of(&self, index: usize) -> Result<usize> {
        self.host.group_of(index)
    }

    /// The name of a group: its pattern in the config, or `all`.
    pub fn group_name(&self, group: usize) -> Result<String> {
        self.host.group_name(group)
    }

    /// The learning rate of a group before the schedule is applied.
    pub fn group_base_lr(&self, group: usize) -> Result<f64> {
        self.host.base_lr(group)
    }

    /// Sets the learning rate of a group to which the schedule is applied, from its next step on.
    pub fn set_group_base_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_base_lr(group, lr)
    }

    /// The momentum of a group, or the first beta of an Adam variant; `None` if the optimizer has neither.
    pub fn group_momentum(&self, group: usize) -> Result<Option<f64>> {
        self.host.momentum(group)
    }

    /// Sets the momentum of a group, or the first beta of an Adam variant. A schedule that cycles the momentum overrides it at its next step.
    ///
    /// # Errors
    /// The optimizer has no momentum.
    pub fn set_group_momentum(&mut self, group: usize, momentum: f64) -> Result<()> {
        self.host.set_momentum(group, momentum)
    }

    /// A group's weight decay.
    pub fn group_weight_decay(&self, group: usize) -> Result<f64> {
        self.host.weight_decay(group)
    }

    /// Sets a group's weight decay.
    pub fn set_group_weight_decay(&mut self, group: usize, decay: f64) -> Result<()> {
        self.host.set_weight_decay(group, decay)
    }
}
