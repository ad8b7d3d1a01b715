//! The learning rate: the steps of the schedule, and the rates of the parameter groups.

use super::Engine;
use crate::error::{EngineError, Result};
use crate::lr::{Horizon, LR_SCHEDULES, LrSchedule};
use crate::optimizer::Group;
use crate::registry::Build as _;

impl Engine {
    /// Advances the learning rate schedule by one step. One that counts iterations does not advance when the optimizer's
    /// step was skipped: it counts steps that were made.
    pub fn lr_step(&mut self) {
        if self.is_step_skipped() && !self.lr_by_epoch() {
            return;
        }
        self.set_lr_position(self.lr_position + 1);
    }

    /// The number of steps of the learning rate schedule so far.
    pub fn lr_position(&self) -> u64 {
        self.lr_position
    }

    /// Sets the step of the learning rate schedule, as on resume.
    pub fn set_lr_position(&mut self, position: u64) {
        self.lr_position = position;
        let momentum = self.lr_schedule.momentum(position);
        for group in self.optimizer.groups_mut() {
            group.lr = self.lr_schedule.lr(group.base_lr, position);
            if let (Some(own), Some(scheduled)) = (&mut group.momentum, momentum) {
                *own = scheduled;
            }
        }
    }

    /// The learning rate schedule, to restore its state.
    pub(crate) fn lr_schedule_mut(&mut self) -> &mut dyn LrSchedule {
        self.lr_schedule.as_mut()
    }

    /// The learning rate schedule.
    pub fn lr_schedule(&self) -> &dyn LrSchedule {
        self.lr_schedule.as_ref()
    }

    /// Passes the value logged at iteration `iter` of the monitored scalar to the learning rate schedule, and sets
    /// the rates accordingly. A value that it has already received is ignored.
    pub fn observe(&mut self, value: f64, iter: u64) {
        if self.told_at != Some(iter) {
            self.told_at = Some(iter);
            self.lr_schedule.observe(value, self.lr_position);
            self.set_lr_position(self.lr_position);
        }
    }

    /// The scheduled rate at the current step for a group whose base rate is `base`.
    pub fn scheduled_lr(&self, base: f64) -> f64 {
        self.lr_schedule.lr(base, self.lr_position)
    }

    /// Whether the learning rate schedule steps by epoch; otherwise by iteration.
    pub fn lr_by_epoch(&self) -> bool {
        self.lr_schedule.by_epoch()
    }

    /// Makes the learning rate schedule step by epoch or by iteration, overriding its settings.
    ///
    /// # Errors
    /// It has already made a step, it does not come from a config, or its parts count differently.
    pub fn count_lr_by_epoch(&mut self, by_epoch: bool) -> Result<()> {
        if self.lr_by_epoch() == by_epoch {
            return Ok(());
        }
        let choice = self.lr_choice.as_mut().filter(|_| self.lr_position == 0);
        let (choice, horizon) = choice.ok_or(EngineError::LrCount)?;
        choice.set("by_epoch", by_epoch.into());
        self.lr_schedule = choice.build(LR_SCHEDULES, horizon)?;
        self.set_lr_position(0);
        Ok(())
    }

    /// Stretches the learning rate schedule over another length of the run. One of the caller's own stays as it is.
    ///
    /// # Errors
    /// Its settings do not fit the length.
    pub fn set_horizon(&mut self, horizon: Horizon) -> Result<()> {
        if let Some((choice, own)) = self.lr_choice.as_mut().filter(|(_, own)| *own != horizon) {
            *own = horizon;
            self.lr_schedule = choice.build(LR_SCHEDULES, own)?;
            self.set_lr_position(self.lr_position);
        }
        Ok(())
    }

    /// The learning rate of the largest parameter group, which is reported as the run's: the one with the most parameters, the
    /// first among equals. If each group has one parameter, the rate that most of them start from.
    pub fn lr(&self) -> f64 {
        let groups = self.optimizer.groups();
        let alike = |group: &Group| {
            let base = group.base_lr.to_bits();
            groups.iter().filter(|other| other.base_lr.to_bits() == base).count()
        };
        let size = |group: &Group| (group.size(), if group.size() > 1 { 0 } else { alike(group) });
        // `max_by_key` returns the last of equals, and the first is wanted.
        let largest = groups.iter().rev().max_by_key(|group| size(group));
        largest.map_or(0.0, |group| group.lr)
    }

    /// The number of parameter groups.
    pub fn group_count(&self) -> usize {
        self.optimizer.groups().len()
    }

    /// A parameter group.
    pub fn group(&self, group: usize) -> Result<&Group> {
        let found = self.optimizer.groups().get(group);
        found.ok_or(EngineError::NoGroup { group, count: self.group_count() })
    }

    /// A parameter group, to change it. A schedule overwrites learning rate and momentum in its next step.
    pub fn group_mut(&mut self, group: usize) -> Result<&mut Group> {
        let count = self.group_count();
        let found = self.optimizer.groups_mut().get_mut(group);
        found.ok_or(EngineError::NoGroup { group, count })
    }

    /// The group of a parameter.
    pub fn group_of(&self, index: usize) -> Result<usize> {
        let param = self.params().get(index).ok_or(EngineError::NoParam { index })?;
        let found = self.optimizer.groups().iter().position(|group| group.has(&param.name));
        found.ok_or(EngineError::NoParam { index })
    }

    /// Sets the learning rate of every parameter group, until the schedule's next step.
    pub fn set_lr(&mut self, lr: f64) {
        for group in self.optimizer.groups_mut() {
            group.lr = lr;
        }
    }
}
