//! What a role does to the engine.

use super::Trainer;
use crate::abi::{SLOT_LOSS, SLOT_OUTPUT};
use crate::error::Result;
use crate::tensor::Tensor;

/// What roles do.
impl Trainer {
    /// Runs the model on the current input; its result is the output.
    pub fn forward(&mut self) -> Result<()> {
        self.host.forward()
    }

    /// Runs the model on a tensor of your own.
    pub fn model(&mut self, input: &Tensor) -> Result<Tensor> {
        Ok(Tensor::owned(self.host, self.host.model(input.id())?))
    }

    /// Computes the configured loss of output and label.
    pub fn criterion(&mut self) -> Result<()> {
        self.host.criterion()
    }

    /// Differentiates the loss.
    pub fn backward(&mut self) -> Result<()> {
        self.host.backward()
    }

    /// Changes the parameters by their gradients, which stay until the iteration ends.
    pub fn optimizer_step(&mut self) -> Result<()> {
        self.host.optimizer_step()
    }

    /// Sets the learning rate by the configured schedule.
    pub fn lr_step(&mut self) -> Result<()> {
        self.host.lr_step()
    }

    /// Has the configured schedule count epochs or iterations as its steps, in place of what the config says. Call it at
    /// `before_run`; a host of plugin-api 1.0 cannot, and says so.
    pub fn count_lr_by_epoch(&mut self, by_epoch: bool) -> Result<()> {
        self.host.count_lr_by_epoch(by_epoch)
    }

    /// Gives the output.
    pub fn set_output(&mut self, output: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_OUTPUT, output.id())
    }

    /// Gives the loss.
    pub fn set_loss(&mut self, loss: &Tensor) -> Result<()> {
        self.host.set_slot(SLOT_LOSS, loss.id())
    }

    /// How many groups of parameters the optimizer has.
    pub fn group_count(&self) -> usize {
        self.host.group_count()
    }

    /// A group's learning rate.
    pub fn group_lr(&self, group: usize) -> Result<f64> {
        self.host.lr(group)
    }

    /// Sets a group's learning rate.
    pub fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        self.host.set_lr(group, lr)
    }

    /// Sets the learning rate of every group.
    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        (0..self.group_count()).try_for_each(|group| self.host.set_lr(group, lr))
    }
}
