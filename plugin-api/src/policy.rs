//! What the host does when a hook fails.

/// What an error in a hook does to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    Abort,
    /// The hook is switched off for the rest of the run.
    Disable,
    /// The error is logged and the hook goes on.
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
