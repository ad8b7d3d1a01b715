//! Which parameters are trained, and with what.

use super::Trainer;
use crate::error::Result;

/// Parameters and their groups: the extension `hookrack.params/1`, which an older host answers with an error.
impl Trainer {
    /// Whether the parameter at `index` of [`params`](Self::params) is trained.
    pub fn is_trainable(&self, index: usize) -> Result<bool> {
        self.host.trainable(index)
    }

    /// Freezes or unfreezes the parameters whose names match `pattern`; returns how many they are.
    ///
    /// In a pattern `*` is any run of letters, dots too: `encoder.*`, `*.bias`. One that matches nothing is an error
    /// with the nearest names, and so is one that would freeze the last. What the config froze from the start gets
    /// fresh state in the optimizer; what is frozen here keeps its state for later.
    pub fn set_trainable(&mut self, pattern: &str, trainable: bool) -> Result<usize> {
        self.host.set_trainable(pattern, trainable)
    }

    /// The group of the parameter at `index` of [`params`](Self::params).
    pub fn group_of(&self, index: usize) -> Result<usize> {
        self.host.group_of(index)
    }

    /// A group's name: the pattern of its rule in the config, or `all`.
    pub fn group_name(&self, group: usize) -> Result<String> {
        self.host.group_name(group)
    }

    /// A group's learning rate before any schedule.
    pub fn group_base_lr(&self, group: usize) -> Result<f64> {
        self.host.base_lr(group)
    }

    /// Sets a group's learning rate before any schedule, which takes it up in its next step.
    pub fn set_group_base_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_base_lr(group, lr)
    }

    /// A group's momentum, or Adam's first beta; `None` for an optimizer without.
    pub fn group_momentum(&self, group: usize) -> Result<Option<f64>> {
        self.host.momentum(group)
    }

    /// Sets a group's momentum, or Adam's first beta, until a schedule that moves it sets it anew.
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
