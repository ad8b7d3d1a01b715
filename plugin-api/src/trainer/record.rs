//! Every value of a scalar.

use super::Trainer;
use crate::error::Result;

/// Every value of a scalar: the extension `hookrack.record/1`, which an older host answers with an error.
impl Trainer {
    /// Writes the scalars of the current iteration to the files, but not to the console: called after each
    /// iteration, it keeps every value. They are on the disk when the writers next write.
    pub fn record_events(&mut self) -> Result<()> {
        self.host.record_events()
    }
}
