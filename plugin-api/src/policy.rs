//! What the host does when a hook fails, and on which ranks it runs.

/// What an error in a hook does to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    Abort,
    /// The hook is switched off for the rest of the run.
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

/// The ranks of a run that have a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRanks {
    /// Every one: what changes training, and what takes part in collectives.
    #[default]
    All,
    /// The main one: what writes files, serves a port or prints.
    Main,
}

impl OnRanks {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::All, Self::Main];

    /// The name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Main => "main",
        }
    }

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|ranks| ranks.name() == name)
    }
}
