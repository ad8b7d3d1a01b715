//! Hook and metric entries as the host reads them.

use std::path::PathBuf;

use hookrack_plugin_api::{OnError, OnRanks, Value};

use super::cadence::{Every, Phases};
use super::origin::Origin;

/// What happens after a call that took too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnSlow {
    /// A warning.
    #[default]
    Warn,
    /// Half as many calls.
    Thin,
    /// The hook is disabled.
    Disable,
}

impl OnSlow {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Warn, Self::Thin, Self::Disable];

    /// Its name in configs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Thin => "thin",
            Self::Disable => "disable",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The time limit of a call, and what happens after one that exceeds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLimit {
    /// In milliseconds.
    pub max_ms: f64,
    /// What happens after such a call.
    pub on_slow: OnSlow,
}

/// One hook or metric of the run.
#[derive(Clone, Debug)]
pub struct MemberEntry {
    /// The instance name: unique, used for state, timing and messages, and for a metric's value.
    pub name: String,
    /// Its type, never an alias.
    pub type_name: String,
    /// The library that provides it; `None` if it is built in.
    pub library: Option<PathBuf>,
    /// Lower runs first.
    pub level: i64,
    /// What an error does.
    pub on_error: OnError,
    /// How often it runs; of a metric, the batches or epochs that it takes into account.
    pub every: Every,
    /// The ranks that it runs on: all, for a metric.
    pub ranks: OnRanks,
    /// The phases that it runs in, or is computed in.
    pub phases: Phases,
    /// The time limit of a call.
    pub time_limit: Option<TimeLimit>,
    /// Its own parameters, with defaults filled in.
    pub settings: Value,
    /// Whether it is a default hook.
    pub is_default: bool,
    /// The entry in the config.
    pub origin: Origin,
}

/// The default level of a metric: before every hook except those at HIGHEST, so that readers find current
/// values.
pub(super) const METRIC_LEVEL: i64 = 5;
