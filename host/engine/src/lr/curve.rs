//! The parts of a schedule: a curve, the part of the run that it covers, and the resulting rate.

use hookrack_plugin_api::Describe;
use serde::de::DeserializeOwned;

/// The rate at a step, given the optimizer's own rate and the step.
pub(super) type Rate = Box<dyn Fn(f64, u64) -> f64 + Send>;

/// The part of a run that a curve covers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Steps of the whole run.
    pub(super) total: u64,
    /// The step of the run that is the curve's own step 0.
    pub(super) start: u64,
}

impl Span {
    /// The curve's own steps.
    pub(super) fn steps(self) -> u64 {
        self.total.saturating_sub(self.start)
    }
}

/// Settings that are a curve: what a rate does without a warm-up, or after it.
pub(super) trait Curve: DeserializeOwned + Describe {
    /// The rate at each of the curve's own steps.
    ///
    /// # Errors
    /// What is wrong with the settings.
    fn rate(self, span: Span) -> Result<Rate, String>;
}
