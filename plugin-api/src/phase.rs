//! What a run is doing, and how it ended.

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Training.
    Train,
    /// Validation within training.
    Val,
    /// Evaluation on its own.
    Test,
    /// Prediction.
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

    /// The name that scopes scalars: `train/loss`.
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
    /// It did all it was asked for.
    Completed,
    /// A hook asked for an end.
    Stopped,
    /// A signal did.
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
