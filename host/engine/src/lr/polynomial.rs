//! Polynomial curves: a power of the remaining fraction of the run.

use hookrack_plugin_api::prelude::Settings;

use super::curve::{Curve, Rate, Span};
use super::shape::{polynomial, real, share};

/// Over the remaining steps of the run: `ColossalAI`'s.
#[derive(Debug, Clone, Settings)]
pub(super) struct Polynomial {
    /// Learning rate at the end.
    #[param(default = 1e-4, min = 0.0)]
    end_lr: f64,
    /// Exponent.
    #[param(default = 1.0, min = 0.0)]
    power: f64,
}

/// Over `total_iters` steps: `ColossalAI`'s, and PyTorch's with `end_lr = 0`.
#[derive(Debug, Clone, Settings)]
pub(super) struct PolynomialOver {
    /// Learning rate at the end; PyTorch's scheduler of this name has 0.
    #[param(default = 1e-4, min = 0.0)]
    end_lr: f64,
    /// Exponent.
    #[param(default = 1.0, min = 0.0)]
    power: f64,
    /// Steps of the decay. Default: the whole run.
    #[param(min = 1)]
    total_iters: Option<u64>,
}

/// Over the remaining steps of the run: Hugging Face's.
#[derive(Debug, Clone, Settings)]
pub(super) struct PolynomialTo {
    /// Learning rate at the end.
    #[param(default = 1e-7, min = 0.0)]
    lr_end: f64,
    /// Exponent.
    #[param(default = 1.0, min = 0.0)]
    power: f64,
}

/// Over `max_iter` steps, and over their multiples with `cycle`: LiBai's, which is OneFlow's.
#[derive(Debug, Clone, Settings)]
pub(super) struct PolynomialCycle {
    /// Learning rate at the end.
    #[param(default = 1e-4, min = 0.0)]
    end_learning_rate: f64,
    /// Exponent.
    #[param(default = 1.0, min = 0.0)]
    power: f64,
    /// Steps of the decay. Default: the whole run.
    #[param(min = 1)]
    max_iter: Option<u64>,
    /// Continue past the end with further cycles, each from a lower rate.
    #[param(default = false)]
    cycle: bool,
}

/// The completed fraction, where the length grows by multiples and step 0 counts as 1.
fn share_of_multiples(step: u64, total: u64) -> f64 {
    let (step, total) = (step.max(1), total.max(1));
    real(step) / (real(total) * real(step.div_ceil(total)))
}

fn fall(end: f64, power: f64, total: u64) -> Rate {
    Box::new(move |base, step| polynomial(base, end, power, share(step, total)))
}

impl Curve for Polynomial {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(fall(self.end_lr, self.power, span.steps()))
    }
}

impl Curve for PolynomialOver {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(fall(self.end_lr, self.power, self.total_iters.unwrap_or(span.steps())))
    }
}

impl Curve for PolynomialTo {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(fall(self.lr_end, self.power, span.steps()))
    }
}

impl Curve for PolynomialCycle {
    fn rate(self, span: Span) -> Result<Rate, String> {
        let Self { end_learning_rate: end, power, max_iter, cycle } = self;
        let total = max_iter.unwrap_or(span.steps());
        if !cycle {
            return Ok(fall(end, power, total));
        }
        Ok(Box::new(move |base, step| {
            polynomial(base, end, power, share_of_multiples(step, total))
        }))
    }
}
