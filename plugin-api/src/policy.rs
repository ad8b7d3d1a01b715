//! What the host does when a hook fails, and on which ranks it runs.

/// What an error in a hook does to the run.
///
/// The default is `abort` for a hook that mutates something or has a role, and `disable` for an observer;
/// `#[hook(on_error = "…")]` changes it. An error in a role always fails the run. A hook that panicked is not
/// called again, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The run fails, on all ranks, and no checkpoint is written.
    Abort,
    /// The hook is not called again in this run, on any rank, and its state is not saved any more. The log
    /// has a warning.
    Disable,
    /// The error is logged and the hook stays enabled. It is called at its next point; what it did before the
    /// error stays.
    Warn,
}

impl OnError {
    /// Every policy, strictest first.
    pub const ALL: [Self; 3] = [Self::Abort, Self::Disable, Self::Warn];

    /// Returns the name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Disable => "disable",
            Self::Warn => "warn",
        }
    }

    /// Returns the policy of a name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// The ranks that a hook runs on.
///
/// On other ranks there is no instance of it. A hook that does not run on all ranks must not call
/// collectives, and its requests apply to all ranks all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRanks {
    /// All ranks: hooks that change training, and hooks with collectives.
    #[default]
    All,
    /// Rank 0 only: hooks that write files, serve a port or print. The other ranks go on and wait for it at
    /// the next collective.
    Main,
    /// The ranks with the last stage of a pipeline, which have output and loss; without a pipeline, all ranks.
    LastStage,
}

impl OnRanks {
    /// Every choice.
    pub const EVERY: [Self; 3] = [Self::All, Self::Main, Self::LastStage];

    /// Returns the name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Main => "main",
            Self::LastStage => "last_stage",
        }
    }

    /// Returns the one of a name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|ranks| ranks.name() == name)
    }
}
