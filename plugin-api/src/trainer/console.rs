//! The progress line.

use super::Trainer;
use crate::error::Result;

/// The progress line (extension `hookrack.console/1`). Only rank 0 has one: on other ranks these calls have
/// no effect. A host before ABI 1.1 returns an error.
impl Trainer {
    /// Sets the scalars of the progress line, in order. A name without `/` is a scalar of training.
    ///
    /// The names replace the previous ones, by default `loss` and `lr`. They are also those of the lines that
    /// are printed without a terminal. A scalar without a value is left out. Call it once, in `before_run`:
    /// the names are copied.
    pub fn show_progress(&mut self, names: &[String]) -> Result<()> {
        self.host.show_progress(names)
    }

    /// Redraws the progress line; does nothing without a terminal.
    ///
    /// Formats the line at each call, with the median of each smoothed scalar; the terminal shows at most 20
    /// of these per second. In every iteration look at a clock first, as the built-in hook `ProgressBar`
    /// does, which redraws at most ten times per second.
    pub fn redraw_progress(&mut self) -> Result<()> {
        self.host.redraw_progress()
    }
}
