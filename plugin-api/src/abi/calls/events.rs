//! Scalars, metrics and shared values.

use super::Host;
use crate::abi::{HrMetricReading, HrScalarReading, HrStr, WireTree};
use crate::error::Result;
use crate::value::Value;

impl Host {
    /// Interns a scalar's name.
    pub fn scalar_key(self, name: &str, smooth: bool) -> Result<u32> {
        let mut out = 0;
        // SAFETY: the name is lent until the call returns; the host writes one number.
        self.check(unsafe {
            (self.events().key)(self.raw(), HrStr::new(name), u32::from(smooth), &raw mut out)
        })?;
        Ok(out)
    }

    /// Puts a scalar.
    pub fn put_scalar(self, key: u32, value: f64) -> Result<()> {
        // SAFETY: plain numbers.
        self.check(unsafe { (self.events().put)(self.raw(), key, value) })
    }

    /// The last value of a scalar.
    pub fn latest(self, key: u32) -> Result<Option<f64>> {
        self.fill(self.events().latest, key, 0.0)
    }

    /// The median of the last values of a scalar.
    pub fn median(self, key: u32, window: usize) -> Result<Option<f64>> {
        let mut out = 0.0;
        // SAFETY: the host writes one number.
        let status = unsafe { (self.events().median)(self.raw(), key, window, &raw mut out) };
        self.present(status, out)
    }

    /// Has the writers write.
    pub fn write_events(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.events().write)(self.raw()) })
    }

    /// A metric's value.
    pub fn metric(self, phase: u32, name: &str, which: u32) -> Result<Option<f64>> {
        let mut out = 0.0;
        // SAFETY: the name is lent until the call returns; the host writes one number.
        let status = unsafe {
            (self.events().metric)(self.raw(), phase, HrStr::new(name), which, &raw mut out)
        };
        self.present(status, out)
    }

    /// The metric at `index`, with its name; `None` past the last.
    pub fn metric_at(self, index: usize) -> Result<Option<(HrMetricReading, String)>> {
        let mut out =
            HrMetricReading { name: HrStr::EMPTY, phase: 0, better: 0, step: 0.0, epoch: 0.0 };
        // SAFETY: the host writes one reading; its name is copied at once.
        let status = unsafe { (self.events().metric_at)(self.raw(), index, &raw mut out) };
        // SAFETY: as above.
        Ok(self
            .present(status, out)?
            .map(|reading| (reading, unsafe { reading.name.to_lossy() }.into_owned())))
    }

    /// The scalar at `index`, with its name; `None` past the last.
    pub fn scalar_at(self, index: usize) -> Result<Option<(HrScalarReading, String)>> {
        let mut out =
            HrScalarReading { name: HrStr::EMPTY, key: 0, smooth: 0, iter: 0, latest: 0.0 };
        // SAFETY: the host writes one reading; its name is copied at once.
        let status = unsafe { (self.events().scalar_at)(self.raw(), index, &raw mut out) };
        // SAFETY: as above.
        Ok(self
            .present(status, out)?
            .map(|reading| (reading, unsafe { reading.name.to_lossy() }.into_owned())))
    }

    /// Puts a shared value.
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

    /// Removes a shared value; false where there was none.
    pub fn remove_state(self, key: &str) -> Result<bool> {
        // SAFETY: the key is lent until the call returns.
        let status = unsafe { (self.states().remove)(self.raw(), HrStr::new(key)) };
        Ok(self.present(status, ())?.is_some())
    }
}
