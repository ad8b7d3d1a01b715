//! Calls of roles to the engine.

use super::Host;
use super::wire::call;
use crate::abi::HrTensor;
use crate::error::Result;

impl Host {
    /// Runs the model on the current input.
    pub fn forward(self) -> Result<()> {
        call!(self, self.engine(), forward())
    }

    /// Runs the model on a tensor.
    pub fn model(self, input: HrTensor) -> Result<HrTensor> {
        call!(self, self.engine(), model(input) -> HrTensor::NONE)
    }

    /// Computes the configured loss.
    pub fn criterion(self) -> Result<()> {
        call!(self, self.engine(), criterion())
    }

    /// Runs the backward pass of the loss.
    pub fn backward(self) -> Result<()> {
        call!(self, self.engine(), backward())
    }

    /// Updates the parameters.
    pub fn optimizer_step(self) -> Result<()> {
        call!(self, self.engine(), optimizer_step())
    }

    /// Advances the schedule and sets the learning rate.
    pub fn lr_step(self) -> Result<()> {
        call!(self, self.engine(), lr_step())
    }

    /// The number of parameter groups of the optimizer.
    pub fn group_count(self) -> usize {
        // SAFETY: a valid handle is all it needs.
        unsafe { (self.engine().group_count)(self.raw()) }
    }

    /// A group's learning rate.
    pub fn lr(self, group: usize) -> Result<f64> {
        call!(self, self.engine(), lr(group) -> 0.0)
    }

    /// Sets a group's learning rate.
    pub fn set_lr(self, group: usize, lr: f64) -> Result<()> {
        call!(self, self.engine(), set_lr(group, lr))
    }
}
