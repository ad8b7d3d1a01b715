//! Parameters by name, and their groups.

use super::Host;
use super::wire::call;
use crate::abi::{HrStr, ParamTable};
use crate::error::Result;

impl Host {
    /// Whether a parameter is trained.
    pub fn trainable(self, index: usize) -> Result<bool> {
        call!(self, self.require::<ParamTable>()?, trainable(index) -> 0).map(|it| it == 1)
    }

    /// Freezes or unfreezes parameters; returns their number.
    pub fn set_trainable(self, pattern: &str, trainable: bool) -> Result<usize> {
        call!(self, self.require::<ParamTable>()?, set_trainable(pattern, trainable) -> 0)
    }

    /// The group of a parameter.
    pub fn group_of(self, index: usize) -> Result<usize> {
        call!(self, self.require::<ParamTable>()?, group_of(index) -> 0)
    }

    /// A group's name.
    pub fn group_name(self, group: usize) -> Result<String> {
        let name = call!(self, self.require::<ParamTable>()?, group_name(group) -> HrStr::EMPTY)?;
        // SAFETY: the text is lent for the run and copied here.
        Ok(unsafe { name.to_lossy() }.into_owned())
    }

    /// A group's learning rate before any schedule.
    pub fn base_lr(self, group: usize) -> Result<f64> {
        call!(self, self.require::<ParamTable>()?, base_lr(group) -> 0.0)
    }

    /// Sets a group's learning rate before any schedule.
    pub fn set_base_lr(self, group: usize, value: f64) -> Result<()> {
        call!(self, self.require::<ParamTable>()?, set_base_lr(group, value))
    }

    /// A group's momentum.
    pub fn momentum(self, group: usize) -> Result<Option<f64>> {
        call!(self, self.require::<ParamTable>()?, momentum(group) -> Option(0.0))
    }

    /// Sets a group's momentum.
    pub fn set_momentum(self, group: usize, value: f64) -> Result<()> {
        call!(self, self.require::<ParamTable>()?, set_momentum(group, value))
    }

    /// A group's weight decay.
    pub fn weight_decay(self, group: usize) -> Result<f64> {
        call!(self, self.require::<ParamTable>()?, weight_decay(group) -> 0.0)
    }

    /// Sets a group's weight decay.
    pub fn set_weight_decay(self, group: usize, value: f64) -> Result<()> {
        call!(self, self.require::<ParamTable>()?, set_weight_decay(group, value))
    }
}
