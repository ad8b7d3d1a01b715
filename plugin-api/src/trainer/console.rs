//! The progress line.

use super::Trainer;
use crate::error::Result;

/// The progress line (extension `hookrack.console/1`).
impl Trainer {
    /// Sets the scalars of the progress line, in order. A name without `/` is a scalar of training.
    pub fn show_progress(&mut self, names: &[String]) -> Result<()> {
        self.host.show_progress(names)
    }

    /// Redraws the progress line, at most ten times per second; does nothing without a terminal.
    pub fn redraw_progress(&mut self) -> Result<()> {
        self.host.redraw_progress()
    }
}
