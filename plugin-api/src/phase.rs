//! The phases of a run, and its outcome.

/// What the loop is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Training.
    Train,
    /// Validation during training.
    Val,
    /// Evaluation by `hookrack eval`.
    Test,
    /// Prediction by `hookrack predict`.
    Pred,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 4] = [Self::Train, Self::Val, Self::Test, Self::Pred];

    /// The number by which the ABI knows it.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The phase of a number; training for an unknown one.
    pub fn from_code(code: u32) -> Self {
        Self::ALL.into_iter().find(|phase| phase.code() == code).unwrap_or(Self::Train)
    }

    /// The name that prefixes scalars: `train` in `train/loss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
            Self::Pred => "pred",
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs or iterations are done.
    Completed,
    /// A hook requested a stop, or a limit was reached.
    Stopped,
    /// A signal ended it.
    Interrupted,
    /// Something failed.
    Failed,
}

impl Outcome {
    /// The number by which the ABI knows it.
    pub const fn code(self) -> u32 {
        self as u32 + 1
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        [Self::Completed, Self::Stopped, Self::Interrupted, Self::Failed]
            .into_iter()
            .find(|o| o.code() == code)
    }
}
