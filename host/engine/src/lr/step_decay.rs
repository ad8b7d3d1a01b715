//! Curves that multiply the rate at certain steps.

use hookrack_plugin_api::prelude::Settings;

use super::curve::{Curve, Rate, Span};
use super::shape::{decayed, in_order, stairs};

/// At each milestone.
#[derive(Debug, Clone, Settings)]
pub(super) struct MultiStep {
    /// Steps at which the rate is multiplied by `gamma`, in ascending order; values below 1 are fractions of the run.
    milestones: Vec<f64>,
    /// Factor at each milestone.
    #[param(default = 0.1, min = 0.0)]
    gamma: f64,
}

/// Every `step_size` steps, by PyTorch's name and `ColossalAI`'s defaults.
#[derive(Debug, Clone, Settings)]
pub(super) struct StepDecay {
    /// Number of steps after which the rate is multiplied by `gamma`.
    #[param(default = 1, min = 1)]
    step_size: u64,
    /// Factor every `step_size` steps.
    #[param(default = 0.1, min = 0.0)]
    gamma: f64,
}

/// Every `step_size` steps, which LiBai requires.
#[derive(Debug, Clone, Settings)]
pub(super) struct RequiredStepDecay {
    /// Number of steps after which the rate is multiplied by `gamma`.
    #[param(min = 1)]
    step_size: u64,
    /// Factor every `step_size` steps.
    #[param(default = 0.1, min = 0.0)]
    gamma: f64,
}

/// At each step, with `ColossalAI`'s default.
#[derive(Debug, Clone, Settings)]
pub(super) struct Exponential {
    /// Factor at each step.
    #[param(default = 1.0, min = 0.0)]
    gamma: f64,
}

/// At each step, by a factor that LiBai requires.
#[derive(Debug, Clone, Settings)]
pub(super) struct RequiredExponential {
    /// Factor at each step.
    #[param(min = 0.0)]
    gamma: f64,
}

/// By the step's own factor from a list: PyTorch's `LambdaLR`, whose function a config cannot express.
#[derive(Debug, Clone, Settings)]
pub(super) struct Factors {
    /// Factors on the rate, starting at step 0; the last one is kept until the end.
    factors: Vec<f64>,
    /// Number of steps for which each factor is used.
    #[param(default = 1, min = 1)]
    every: u64,
}

/// By the next factor of a list: PyTorch's `MultiplicativeLR`, whose function a config cannot express.
#[derive(Debug, Clone, Settings)]
pub(super) struct Products {
    /// Factors, in the order in which they are applied, the first one at step `every`.
    factors: Vec<f64>,
    /// Steps between factors.
    #[param(default = 1, min = 1)]
    every: u64,
}

impl Curve for MultiStep {
    /// Milestones before the curve's own step 0 have no effect.
    fn rate(self, span: Span) -> Result<Rate, String> {
        let milestones = in_order("milestones", &self.milestones, span.total)?;
        let own = milestones.iter().filter_map(|step| step.checked_sub(span.start));
        let own: Vec<u64> = own.collect();
        Ok(Box::new(move |base, step| stairs(base, self.gamma, &own, step)))
    }
}

fn even(gamma: f64, step_size: u64) -> Rate {
    Box::new(move |base, step| decayed(base, gamma, step / step_size))
}

impl Curve for StepDecay {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(even(self.gamma, self.step_size))
    }
}

impl Curve for RequiredStepDecay {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(even(self.gamma, self.step_size))
    }
}

impl Curve for Exponential {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(even(self.gamma, 1))
    }
}

impl Curve for RequiredExponential {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(even(self.gamma, 1))
    }
}

/// Why a list of factors cannot be used.
fn usable(factors: &[f64]) -> Result<(), String> {
    if factors.is_empty() {
        return Err("factors is empty: add at least one, such as [1.0]".to_owned());
    }
    match factors.iter().find(|factor| !factor.is_finite() || **factor < 0.0) {
        None => Ok(()),
        Some(factor) => Err(format!("factors has {factor}: must be at least 0")),
    }
}

/// The rate times the factor of a step's period; the last one stays.
fn by_period(factors: Vec<f64>, every: u64) -> Rate {
    let last = factors.len() - 1;
    let period = move |step: u64| usize::try_from(step / every).unwrap_or(usize::MAX).min(last);
    Box::new(move |base, step| base * factors[period(step)])
}

impl Curve for Factors {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        usable(&self.factors)?;
        Ok(by_period(self.factors, self.every))
    }
}

impl Curve for Products {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        usable(&self.factors)?;
        let products = self.factors.iter().scan(1.0, |product, factor| {
            *product *= factor;
            Some(*product)
        });
        Ok(by_period(std::iter::once(1.0).chain(products).collect(), self.every))
    }
}
