//! `LambdaLR` and `MultiplicativeLR`: PyTorch's functions of the step, written out as a list of factors.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Takes the rate at each step times the step's own factor from a list; the last factor stays.
///
/// `base factors[t / every]`. A config holds no function, so that its values are listed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LambdaLr {
    /// The factors, the first one for step 0.
    factors: Vec<f64>,
    /// Steps that each factor is for.
    #[serde(default = "one")]
    #[param(min = 1)]
    every: u64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

/// Multiplies the rate by the next factor of a list; when the list is over, the rate stays.
///
/// The first factor is applied at step `every`, the second one at `2 every`, as PyTorch does with the function's values
/// from 1 on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiplicativeLr {
    /// The factors, in the order in which they are applied.
    factors: Vec<f64>,
    /// Steps between two factors.
    #[serde(default = "one")]
    #[param(min = 1)]
    every: u64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn one() -> u64 {
    1
}

/// Why a list of factors cannot be used.
fn usable(factors: &[f64]) -> std::result::Result<(), String> {
    if factors.is_empty() {
        return Err("factors is empty; write at least one, such as [1.0]".to_owned());
    }
    match factors.iter().find(|factor| !factor.is_finite() || **factor < 0.0) {
        None => Ok(()),
        Some(factor) => Err(format!("factors has {factor}; a factor is 0 or more")),
    }
}

fn periods(step: u64, every: u64) -> usize {
    usize::try_from(step / every).unwrap_or(usize::MAX)
}

impl Component<Horizon, dyn LrSchedule> for LambdaLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "LambdaLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        usable(&self.factors).map_err(Self::refuse)?;
        let last = self.factors.len() - 1;
        Ok(rule(self.by_epoch, move |base, step| {
            base * self.factors[periods(step, self.every).min(last)]
        }))
    }
}

impl Component<Horizon, dyn LrSchedule> for MultiplicativeLr {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "MultiplicativeLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        usable(&self.factors).map_err(Self::refuse)?;
        let products = self.factors.iter().scan(1.0, |product, factor| {
            *product *= factor;
            Some(*product)
        });
        let products: Vec<f64> = std::iter::once(1.0).chain(products).collect();
        Ok(rule(self.by_epoch, move |base, step| {
            base * products[periods(step, self.every).min(products.len() - 1)]
        }))
    }
}
