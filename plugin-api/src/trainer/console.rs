//! The progress line.

use super::Trainer;
use crate::error::Result;

/// The progress line: the extension `hookrack.console/1`, which an older host answers with an error.
impl Trainer {
    /// Says which scalars the progress line shows, in their order. A name without a slash is one of training.
    pub fn show_progress(&mut self, names: &[String]) -> Result<()> {
        self.host.show_progress(names)
    }

    /// Redraws the progress line; does nothing without a terminal.
    pub fn redraw_progress(&mut self) -> Result<()> {
        self.host.redraw_progress()
    }
}
