//! `L1`: the mean absolute difference.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Mean absolute error between outputs and labels of the same shape.
#[derive(Debug, Clone, Settings)]
pub struct L1 {}

impl Component<DataSpec, dyn Criterion> for L1 {
    const NAME: &'static str = "L1";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        label::values(data).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Criterion for L1 {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        label::same_shape("loss `L1`, for the label,", output, label)?;
        Ok(output.f_l1_loss(label, Reduction::Mean)?)
    }
}
