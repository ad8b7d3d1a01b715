//! What the host does when a hook fails, and on which ranks it runs.

/// What an error in a hook does to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    Abort,
    /// The hook is not called again in this run.
    Disable,
    /// The error is logged and the hook stays enabled.
    Warn,
}

impl OnError {
    /// Every policy, strictest first.
    pub const ALL: [Self; 3] = [Self::Abort, Self::Disable, Self::Warn];

    /// The name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Disable => "disable",
            Self::Warn => "warn",
        }
    }

    /// The policy of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// The ranks that a hook runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRanks {
    /// All ranks: hooks that change training, and hooks with collectives.
    #[default]
    All,
    /// Rank 0 only: hooks that write files, serve a port or print.
    Main,
    /// The ranks with the last stage of a pipeline, which have output and loss; without a pipeline, all ranks.
    LastStage,
}

impl OnRanks {
    /// Every choice.
    pub const EVERY: [Self; 3] = [Self::All, Self::Main, Self::LastStage];

    /// The name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Main => "main",
            Self::LastStage => "last_stage",
        }
    }

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|ranks| ranks.name() == name)
    }
}
