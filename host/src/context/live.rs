//! The live hooks and metrics that other hooks reach through the context. `plugins` implements both traits.

use hookrack_plugin_api::{Better, Phase};

/// What a metric of one phase is.
#[derive(Clone, Debug)]
pub struct MetricDescription {
    /// Its instance name.
    pub name: String,
    /// Its type.
    pub type_name: String,
    /// The unit of its value; empty for a plain number.
    pub unit: String,
    /// The phase that it is computed in.
    pub phase: Phase,
    /// Which of two values is better.
    pub better: Option<Better>,
}

/// A metric of the run in one phase.
pub trait LiveMetric {
    /// What it is.
    fn description(&self) -> &MetricDescription;

    /// Its values of a `METRIC_*` scope of the ABI, by suffix.
    ///
    /// # Errors
    /// Its error message, or that it is being called.
    fn values(&self, scope: u32) -> Result<Vec<(String, f64)>, String>;
}

/// The hook in the training forward role.
pub trait ForwardRole {
    /// Calls the hook, with gradients being recorded.
    ///
    /// # Errors
    /// It failed, it is being called, or it no longer exists.
    fn run(&self) -> Result<(), String>;

    /// Refuses a pass that `caller` makes with `function` if it would bypass the hook in the role.
    ///
    /// # Errors
    /// A hook other than `caller` has the role.
    fn check_pass(&self, caller: &str, function: &str) -> Result<(), String>;
}
