//! Hook and metric entries as the host reads them.

use std::path::PathBuf;

use hookrack_plugin_api::{OnError, OnRanks, Value};

use super::cadence::{Every, Phases};
use super::origin::Origin;

/// One hook of the run.
#[derive(Clone, Debug)]
pub struct HookEntry {
    /// The instance name: unique, used for state, timing and messages.
    pub name: String,
    /// The hook's type, never an alias.
    pub type_name: String,
    /// The library that provides it; none when it is built in.
    pub library: Option<PathBuf>,
    /// Lower runs first.
    pub level: i64,
    /// What an error does.
    pub on_error: OnError,
    /// How often it runs.
    pub every: Every,
    /// The ranks that it runs on.
    pub ranks: OnRanks,
    /// The phases it runs in.
    pub phases: Phases,
    /// Its own parameters, complete.
    pub settings: Value,
    /// Whether it is a default hook.
    pub is_default: bool,
    /// The entry in the config.
    pub origin: Origin,
}

/// The level of a metric that names none: before every hook but those that ask for HIGHEST, so that readers find fresh
/// values.
pub(super) const METRIC_LEVEL: i64 = 5;

/// One metric of the run.
#[derive(Clone, Debug)]
pub struct MetricEntry {
    /// The name of its value: unique.
    pub name: String,
    /// The metric's type, never an alias.
    pub type_name: String,
    /// The library that provides it; none when it is built in.
    pub library: Option<PathBuf>,
    /// Lower runs first.
    pub level: i64,
    /// What an error does.
    pub on_error: OnError,
    /// The batches or epochs that it takes into account.
    pub every: Every,
    /// The phases it is computed in.
    pub phases: Phases,
    /// Its own parameters, complete.
    pub settings: Value,
    /// The entry in the config.
    pub origin: Origin,
}
