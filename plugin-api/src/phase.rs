//! The phases of a run, and its outcome.

/// What the loop is doing. Outside of a pass it is training, also in `hookrack eval` and `hookrack predict`.
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

    /// Returns the number by which the ABI knows it.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Returns the phase of a number; training for an unknown one.
    pub fn from_code(code: u32) -> Self {
        Self::ALL.into_iter().find(|phase| phase.code() == code).unwrap_or(Self::Train)
    }

    /// Returns the name that prefixes scalars: `train` in `train/loss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
            Self::Pred => "pred",
        }
    }
}

/// How a run ended. If several apply, a failure takes precedence, then an interruption, then a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs or iterations are done; an evaluation or a prediction has processed all data. Exit code 0.
    Completed,
    /// A hook requested a stop, or a limit was reached: `train.max_time`, `--until`. Exit code 0; training
    /// saves a checkpoint first.
    Stopped,
    /// A signal ended it: SIGINT, SIGTERM or SIGUSR1. Training saves a checkpoint first, from which a resume
    /// continues.
    Interrupted,
    /// Something failed: a hook under `on_error = "abort"`, a role, a step, a file, or another rank. No
    /// checkpoint is saved.
    Failed,
}

impl Outcome {
    /// Returns the number by which the ABI knows it; 0 is a run in progress.
    pub const fn code(self) -> u32 {
        self as u32 + 1
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        [Self::Completed, Self::Stopped, Self::Interrupted, Self::Failed]
            .into_iter()
            .find(|o| o.code() == code)
    }
}
