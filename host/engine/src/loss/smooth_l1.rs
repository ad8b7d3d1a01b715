//! `SmoothL1`: the Huber loss over its `beta`, so that large differences weigh as in L1.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Smooth L1 loss: quadratic below `beta`, L1 beyond.
#[derive(Debug, Clone, Settings)]
pub struct SmoothL1 {
    /// Where the loss becomes linear; 0 is L1.
    #[param(default = 1.0, min = 0.0)]
    pub beta: f64,
}

impl Component<DataSpec, dyn Criterion> for SmoothL1 {
    const NAME: &'static str = "SmoothL1";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        label::values(data).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Criterion for SmoothL1 {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        label::same_shape("loss `SmoothL1`, for the label,", output, label)?;
        Ok(output.f_smooth_l1_loss(label, Reduction::Mean, self.beta)?)
    }
}
