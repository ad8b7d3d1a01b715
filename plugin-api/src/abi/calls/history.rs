//! A scalar's past, and scopes of names.

use super::Host;
use crate::abi::{HISTORY, HistoryTable, HrScalarPoint, HrStr};
use crate::error::{Error, Result};

impl Host {
    fn histories(self) -> Result<&'static HistoryTable> {
        // SAFETY: under this id a host hands out this very table, valid for the process.
        let table = unsafe { self.extension(HISTORY).cast::<HistoryTable>().as_ref() };
        table.ok_or_else(|| {
            Error::new(format!(
                "this host is older than `{HISTORY}`: it keeps no history for hooks and no scopes"
            ))
        })
    }

    /// The mean of the last values of a scalar.
    pub fn mean(self, key: u32, window: usize) -> Result<Option<f64>> {
        let mut out = 0.0;
        // SAFETY: the host writes one number.
        let status = unsafe { (self.histories()?.mean)(self.raw(), key, window, &raw mut out) };
        self.present(status, out)
    }

    /// The mean of all values of a scalar.
    pub fn global_mean(self, key: u32) -> Result<Option<f64>> {
        self.fill(self.histories()?.global_mean, key, 0.0)
    }

    /// The last values of a scalar, oldest first.
    pub fn recent(self, key: u32, window: usize) -> Result<Vec<HrScalarPoint>> {
        let (mut points, mut count) = (vec![HrScalarPoint::default(); window], 0);
        // SAFETY: the host writes at most `window` points to a row of that length, and one number.
        self.check(unsafe {
            let (row, count) = (points.as_mut_ptr(), &raw mut count);
            (self.histories()?.recent)(self.raw(), key, row, window, count)
        })?;
        points.truncate(count);
        Ok(points)
    }

    /// Enters a scope of names.
    pub fn enter_scope(self, name: &str) -> Result<()> {
        // SAFETY: the name is lent until the call returns.
        self.check(unsafe { (self.histories()?.enter_scope)(self.raw(), HrStr::new(name)) })
    }

    /// Leaves the scope that was entered last.
    pub fn leave_scope(self) -> Result<()> {
        // SAFETY: a valid handle is all it needs.
        self.check(unsafe { (self.histories()?.leave_scope)(self.raw()) })
    }
}
