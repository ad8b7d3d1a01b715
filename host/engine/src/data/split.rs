//! Which part of its samples a data set returns, if it comes in one piece.

use hookrack_plugin_api::prelude::Settings;

/// A part of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub enum Split {
    /// What is trained on.
    Train,
    /// What is held out.
    Val,
    /// All.
    All,
}

/// Which files of a data set that comes with files for training and for test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Settings)]
pub enum TrainTest {
    /// Those for training.
    Train,
    /// Those for test.
    Test,
}
