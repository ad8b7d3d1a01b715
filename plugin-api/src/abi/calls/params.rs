//! Parameters and their groups.

use super::Host;
use crate::abi::{HrStatus, HrStr, PARAMS, ParamTable};
use crate::error::{Error, Result};
use std::ffi::c_void;

type Read<T> = unsafe extern "C" fn(*mut c_void, usize, *mut T) -> HrStatus;
type Set = unsafe extern "C" fn(*mut c_void, usize, f64) -> HrStatus;

impl Host {
    fn params_table(self) -> Result<&'static ParamTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(PARAMS).cast::<ParamTable>().as_ref() };
        let missing = "it neither freezes parameters nor changes their groups";
        table.ok_or_else(|| Error::new(format!("this host is older than `{PARAMS}`: {missing}")))
    }

    fn read_param<T: Copy>(
        self,
        function: impl FnOnce(&'static ParamTable) -> Read<T>,
        index: usize,
        empty: T,
    ) -> Result<Option<T>> {
        let function = function(self.params_table()?);
        let mut out = empty;
        // SAFETY: the host writes one `T` to a place that is there for it.
        let status = unsafe { function(self.raw(), index, &raw mut out) };
        self.present(status, out)
    }

    fn set_param(
        self,
        function: impl FnOnce(&'static ParamTable) -> Set,
        group: usize,
        value: f64,
    ) -> Result<()> {
        let function = function(self.params_table()?);
        // SAFETY: plain numbers.
        self.check(unsafe { function(self.raw(), group, value) })
    }

    /// Whether a parameter is trained.
    pub fn trainable(self, index: usize) -> Result<bool> {
        Ok(self.read_param(|table| table.trainable, index, 0)? == Some(1))
    }

    /// Has parameters trained, or not; gives how many they are.
    pub fn set_trainable(self, pattern: &str, trainable: bool) -> Result<usize> {
        let table = self.params_table()?;
        let mut count = 0;
        // SAFETY: the pattern is lent until the call returns; the host writes one number.
        self.check(unsafe {
            (table.set_trainable)(
                self.raw(),
                HrStr::new(pattern),
                u32::from(trainable),
                &raw mut count,
            )
        })?;
        Ok(count)
    }

    /// The group of a parameter.
    pub fn group_of(self, index: usize) -> Result<usize> {
        Ok(self.read_param(|table| table.group_of, index, 0)?.unwrap_or_default())
    }

    /// A group's name.
    pub fn group_name(self, group: usize) -> Result<String> {
        let name = self.read_param(|table| table.group_name, group, HrStr::EMPTY)?;
        // SAFETY: the text is lent for the run and copied here.
        Ok(name.map(|name| unsafe { name.to_lossy() }.into_owned()).unwrap_or_default())
    }

    /// A group's learning rate before any schedule.
    pub fn base_lr(self, group: usize) -> Result<f64> {
        Ok(self.read_param(|table| table.base_lr, group, 0.0)?.unwrap_or_default())
    }

    /// Sets a group's learning rate before any schedule.
    pub fn set_base_lr(self, group: usize, value: f64) -> Result<()> {
        self.set_param(|table| table.set_base_lr, group, value)
    }

    /// A group's momentum.
    pub fn momentum(self, group: usize) -> Result<Option<f64>> {
        self.read_param(|table| table.momentum, group, 0.0)
    }

    /// Sets a group's momentum.
    pub fn set_momentum(self, group: usize, value: f64) -> Result<()> {
        self.set_param(|table| table.set_momentum, group, value)
    }

    /// A group's weight decay.
    pub fn weight_decay(self, group: usize) -> Result<f64> {
        Ok(self.read_param(|table| table.weight_decay, group, 0.0)?.unwrap_or_default())
    }

    /// Sets a group's weight decay.
    pub fn set_weight_decay(self, group: usize, value: f64) -> Result<()> {
        self.set_param(|table| table.set_weight_decay, group, value)
    }
}
