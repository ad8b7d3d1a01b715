//! `Poisson`: the negative log-likelihood of counts.

use super::mean::{Mean, mean_value};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// Mean negative log-likelihood of counts under a Poisson distribution, without the constant term.
#[derive(Settings)]
pub(super) struct Poisson {
    /// Outputs are logarithms of the expected count.
    #[param(default = true)]
    log_input: bool,
    #[param(skip)]
    mean: Mean,
}
/// As in PyTorch, a small constant is added to the expected count.
fn of_count(x: f64, y: f64) -> f64 {
    x - y * (x + 1e-8).ln()
}

fn of_log(x: f64, y: f64) -> f64 {
    x.exp() - y * x
}

#[metric(better = "lower")]
impl Metric for Poisson {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let surprise = if self.log_input { of_log } else { of_count };
        self.mean.add(paired(t, |batch| Ok(batch.total(surprise)))?);
        Ok(())
    }

    mean_value!(mean);
}
