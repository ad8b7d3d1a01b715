//! Scalars, metrics and shared values.

use super::Host;
use super::wire::call;
use crate::abi::{HrMetricReading, HrScalarReading, HrStr, WireTree};
use crate::error::Result;
use crate::value::Value;

impl Host {
    /// Interns a scalar's name.
    pub fn scalar_key(self, name: &str, smooth: bool) -> Result<u32> {
        call!(self, self.events(), key(name, smooth) -> 0)
    }

    /// Logs a scalar.
    pub fn put_scalar(self, key: u32, value: f64) -> Result<()> {
        call!(self, self.events(), put(key, value))
    }

    /// The last value of a scalar.
    pub fn latest(self, key: u32) -> Result<Option<f64>> {
        call!(self, self.events(), latest(key) -> Option(0.0))
    }

    /// The median of the last values of a scalar.
    pub fn median(self, key: u32, window: usize) -> Result<Option<f64>> {
        call!(self, self.events(), median(key, window) -> Option(0.0))
    }

    /// Makes the writers write.
    pub fn write_events(self) -> Result<()> {
        call!(self, self.events(), write())
    }

    /// A metric's value.
    pub fn metric(self, phase: u32, name: &str, which: u32) -> Result<Option<f64>> {
        call!(self, self.events(), metric(phase, name, which) -> Option(0.0))
    }

    /// The metric at `index`, with its name; `None` past the last.
    pub fn metric_at(self, index: usize) -> Result<Option<(HrMetricReading, String)>> {
        let empty =
            HrMetricReading { name: HrStr::EMPTY, phase: 0, better: 0, step: 0.0, epoch: 0.0 };
        let found = call!(self, self.events(), metric_at(index) -> Option(empty))?;
        // SAFETY: the name is lent until the point returns and copied here.
        Ok(found.map(|reading| (reading, unsafe { reading.name.to_lossy() }.into_owned())))
    }

    /// The scalar at `index`, with its name; `None` past the last.
    pub fn scalar_at(self, index: usize) -> Result<Option<(HrScalarReading, String)>> {
        let empty = HrScalarReading { name: HrStr::EMPTY, key: 0, smooth: 0, iter: 0, latest: 0.0 };
        let found = call!(self, self.events(), scalar_at(index) -> Option(empty))?;
        // SAFETY: the name is lent for the run and copied here.
        Ok(found.map(|reading| (reading, unsafe { reading.name.to_lossy() }.into_owned())))
    }

    /// Sets a shared value.
    pub fn put_state(self, key: &str, value: &Value) -> Result<()> {
        let tree = WireTree::new(value);
        // SAFETY: key and tree are lent until the call returns.
        self.check(unsafe { (self.states().put)(self.raw(), HrStr::new(key), tree.as_ptr()) })
    }

    /// A shared value.
    pub fn state(self, key: &str) -> Option<Value> {
        // SAFETY: the key is lent until the call returns; the tree is copied before the next call.
        unsafe { (self.states().value)(self.raw(), HrStr::new(key)).as_ref()?.to_value() }
    }

    /// Removes a shared value; false if there was none.
    pub fn remove_state(self, key: &str) -> Result<bool> {
        // SAFETY: the key is lent until the call returns.
        let status = unsafe { (self.states().remove)(self.raw(), HrStr::new(key)) };
        Ok(self.present(status, ())?.is_some())
    }
}
