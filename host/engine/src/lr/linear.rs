//! Curves that are straight lines.

use hookrack_plugin_api::prelude::Settings;

use super::curve::{Curve, Rate, Span};
use super::shape::{line, share};

/// Constant: `base`.
#[derive(Debug, Clone, Settings)]
pub(super) struct Constant {}

/// A line to 0 at the end of the run.
#[derive(Debug, Clone, Settings)]
pub(super) struct LinearToZero {}

/// A line between two factors of the rate: PyTorch's `LinearLR`.
#[derive(Debug, Clone, Settings)]
pub(super) struct LinearFactors {
    /// Factor at the first step.
    #[param(default = 1.0 / 3.0, min = 0.0)]
    start_factor: f64,
    /// Factor from `total_iters` on.
    #[param(default = 1.0, min = 0.0)]
    end_factor: f64,
    /// Steps of the line.
    #[param(default = 5)]
    total_iters: u64,
}

impl Curve for Constant {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(Box::new(|base, _step| base))
    }
}

impl Curve for LinearToZero {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| line(base, 0.0, share(step, span.steps()))))
    }
}

impl Curve for LinearFactors {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| {
            let done = if self.total_iters == 0 { 1.0 } else { share(step, self.total_iters) };
            base * line(self.start_factor, self.end_factor, done)
        }))
    }
}
