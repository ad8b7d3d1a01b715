//! The history of scalars, and scopes of names.

use super::Host;
use super::wire::call;
use crate::abi::{HistoryTable, HrScalarPoint};
use crate::error::Result;

/// The room for values that the host is given first.
const FIRST_ROOM: usize = 1024;

impl Host {
    /// The mean of the last values of a scalar.
    pub fn mean(self, key: u32, window: usize) -> Result<Option<f64>> {
        call!(self, self.require::<HistoryTable>()?, mean(key, window) -> Option(0.0))
    }

    /// The mean of all values of a scalar.
    pub fn global_mean(self, key: u32) -> Result<Option<f64>> {
        call!(self, self.require::<HistoryTable>()?, global_mean(key) -> Option(0.0))
    }

    /// The last values of a scalar, oldest first. The host does not say how many it has: as long as it fills the room that
    /// it is given, it is given twice as much.
    pub fn recent(self, key: u32, window: usize) -> Result<Vec<HrScalarPoint>> {
        let table = self.require::<HistoryTable>()?;
        let mut room = window.min(FIRST_ROOM);
        loop {
            let (mut points, mut count) = (vec![HrScalarPoint::default(); room], 0);
            // SAFETY: the host writes at most `room` points to a row of that length, and one number.
            self.check(unsafe {
                (table.recent)(self.raw(), key, points.as_mut_ptr(), room, &raw mut count)
            })?;
            if count < room || room == window {
                points.truncate(count);
                return Ok(points);
            }
            room = room.saturating_mul(2).min(window);
        }
    }

    /// Enters a scope of names.
    pub fn enter_scope(self, name: &str) -> Result<()> {
        call!(self, self.require::<HistoryTable>()?, enter_scope(name))
    }

    /// Leaves the scope that was entered last.
    pub fn leave_scope(self) -> Result<()> {
        call!(self, self.require::<HistoryTable>()?, leave_scope())
    }
}
