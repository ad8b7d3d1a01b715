//! Recording every value of a scalar.

use super::Trainer;
use crate::error::Result;

/// Recording every value (extension `hookrack.record/1`).
impl Trainer {
    /// Adds the scalars of the current iteration to the files, but not to the console: call it after each iteration to record every value. They are written to disk when the
    /// writers next write.
    pub fn record_events(&mut self) -> Result<()> {
        self.host.record_events()
    }
}
