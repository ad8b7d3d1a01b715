//! What roles ask of the engine.

use super::Host;
use crate::abi::HrTensor;
use crate::error::Result;

impl Host {
    /// Runs the model on the current input.
    pub fn forward(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().forward)(self.raw()) })
    }

    /// Runs the model on a tensor.
    pub fn model(self, input: HrTensor) -> Result<HrTensor> {
        let mut out = HrTensor::NONE;
        // SAFETY: the host writes one handle.
        self.check(unsafe { (self.engine().model)(self.raw(), input, &raw mut out) })?;
        Ok(out)
    }

    /// Computes the configured loss.
    pub fn criterion(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().criterion)(self.raw()) })
    }

    /// Differentiates the loss.
    pub fn backward(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().backward)(self.raw()) })
    }

    /// Changes the parameters.
    pub fn optimizer_step(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().optimizer_step)(self.raw()) })
    }

    /// Sets the learning rate by the schedule.
    pub fn lr_step(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.engine().lr_step)(self.raw()) })
    }

    /// How many groups the optimizer has.
    pub fn group_count(self) -> usize {
        // SAFETY: a valid handle is all it needs.
        unsafe { (self.engine().group_count)(self.raw()) }
    }

    /// A group's learning rate.
    pub fn lr(self, group: usize) -> Result<f64> {
        let mut out = 0.0;
        // SAFETY: the host writes one number.
        self.check(unsafe { (self.engine().lr)(self.raw(), group, &raw mut out) })?;
        Ok(out)
    }

    /// Sets a group's learning rate.
    pub fn set_lr(self, group: usize, lr: f64) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.engine().set_lr)(self.raw(), group, lr) })
    }
}
