//! Trainable parameters and the groups of the optimizer.

use super::Trainer;
use crate::error::Result;

/// Parameters and optimizer groups (extension `hookrack.params/1`). An index that does not exist is an error.
///
/// Groups are those of the config's optimizer; they keep their indices and names for the whole run. What is
/// set takes effect in the next optimizer step, is not checked (a negative or infinite value reaches the
/// optimizer), and must be the same on every rank. Checkpoints save which parameters are frozen and the
/// learning rates of groups, but not base rates, momenta and weight decays: set those again after a resume. A
/// host before ABI 1.1 returns an error.
impl Trainer {
    /// Returns whether the parameter at `index` of [`params`](Self::params) is trained.
    pub fn is_trainable(&self, index: usize) -> Result<bool> {
        self.host.trainable(index)
    }

    /// Freezes or unfreezes the parameters whose names match `pattern`, and returns their number.
    ///
    /// In a pattern `*` matches any characters, including dots, `?` one, `{a,b}` either and `[ab]` one of
    /// them: `encoder.*`, `*.bias`. Parameters frozen here keep their optimizer state; those that the config
    /// froze get new state when they are unfrozen. Takes effect in the next forward pass; the gradients of
    /// parameters that are frozen are removed now. Goes through all parameters, and on several ranks the sums
    /// of gradients are set up anew: call it when something changes, on every rank. Checkpoints save which
    /// parameters are frozen.
    ///
    /// In a pipeline the pattern may match parameters of other stages, and the number is that over all
    /// stages.
    ///
    /// # Errors
    /// No parameter matches (the message has the nearest names), the pattern is not valid, or no trainable
    /// parameter would be left. At a point that is not a role, the hook does not declare
    /// `mutates = "params"`.
    pub fn set_trainable(&mut self, pattern: &str, trainable: bool) -> Result<usize> {
        self.host.set_trainable(pattern, trainable)
    }

    /// Returns the index of the optimizer group of the parameter at `index` of [`params`](Self::params).
    /// Compares names: ask once per parameter.
    pub fn group_of(&self, index: usize) -> Result<usize> {
        self.host.group_of(index)
    }

    /// Returns the name of a group: its pattern in the config, or `all`. Allocates.
    ///
    /// With patterns the remaining parameters are `rest`; parameters without weight decay have groups of
    /// their own, such as `no_decay`.
    pub fn group_name(&self, group: usize) -> Result<String> {
        self.host.group_name(group)
    }

    /// Returns the learning rate of a group before the schedule is applied.
    pub fn group_base_lr(&self, group: usize) -> Result<f64> {
        self.host.base_lr(group)
    }

    /// Sets the learning rate of a group to which the schedule is applied, from its next step on.
    ///
    /// # Errors
    /// There is no such group. At a point that is not a role, the hook does not declare `mutates = "lr"`.
    pub fn set_group_base_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_base_lr(group, lr)
    }

    /// Returns the momentum of a group, or the first beta of an Adam variant; `None` if the optimizer has
    /// neither.
    pub fn group_momentum(&self, group: usize) -> Result<Option<f64>> {
        self.host.momentum(group)
    }

    /// Sets the momentum of a group, or the first beta of an Adam variant. A schedule that cycles the
    /// momentum overrides it at its next step.
    ///
    /// # Errors
    /// The optimizer has no momentum, or there is no such group. At a point that is not a role, the hook
    /// declares neither `mutates = "momentum"` nor `"lr"`.
    pub fn set_group_momentum(&mut self, group: usize, momentum: f64) -> Result<()> {
        self.host.set_momentum(group, momentum)
    }

    /// Returns a group's weight decay.
    pub fn group_weight_decay(&self, group: usize) -> Result<f64> {
        self.host.weight_decay(group)
    }

    /// Sets a group's weight decay.
    ///
    /// # Errors
    /// There is no such group. At a point that is not a role, the hook declares neither `mutates = "params"`
    /// nor `"lr"`.
    pub fn set_group_weight_decay(&mut self, group: usize, decay: f64) -> Result<()> {
        self.host.set_weight_decay(group, decay)
    }
}
