//! `KL`: the divergence of the predicted distribution from the target.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::shape;

/// Kullback-Leibler divergence of outputs that are log-probabilities from labels that are probabilities.
#[derive(Debug, Clone, Settings)]
pub struct Kl {
    /// Labels are log-probabilities too.
    #[param(default)]
    pub log_target: bool,
    /// Average over samples, which is the divergence, or over all elements.
    #[param(default)]
    pub reduction: KlReduction,
}

/// What the sum is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Settings)]
pub enum KlReduction {
    /// The samples.
    #[default]
    #[param(name = "batchmean")]
    BatchMean,
    /// All numbers.
    Mean,
}

impl Component<DataSpec, dyn Criterion> for Kl {
    const NAME: &'static str = "KL";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        label::values(data).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Criterion for Kl {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        label::same_shape("loss `KL`, for the label,", output, label)?;
        if self.reduction == KlReduction::Mean {
            return Ok(output.f_kl_div(label, Reduction::Mean, self.log_target)?);
        }
        let rows = shape::side(output, 0).unwrap_or(1).max(1);
        let sum = output.f_kl_div(label, Reduction::Sum, self.log_target)?;
        Ok(sum.f_div_scalar(rows)?)
    }
}
