//! Recording every value of a scalar.

use super::Trainer;
use crate::error::Result;

/// Recording every value (extension `hookrack.record/1`). A host before ABI 1.2 returns an error.
impl Trainer {
    /// Adds the scalars of the current iteration to the files, but not to the console: call it after each
    /// iteration to record every value. They are written to disk when the writers next write.
    ///
    /// Formats a line for `metrics.json` and an entry for TensorBoard for each scalar that was logged since
    /// the last call or write, and keeps them in memory until then: this costs more than logging itself. The
    /// built-in `PeriodicLogger` does it with `record = "all"`. On a rank other than 0, and before
    /// `before_train` of a resumed run is over, it does nothing.
    pub fn record_events(&mut self) -> Result<()> {
        self.host.record_events()
    }
}
