//! `Huber`: squares of small differences, absolute values of large ones.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Huber loss: quadratic up to `delta`, linear beyond.
#[derive(Debug, Clone, Settings)]
pub struct Huber {
    /// Where the loss becomes linear.
    #[param(default = 1.0, min = 0.0)]
    pub delta: f64,
}

impl Component<DataSpec, dyn Criterion> for Huber {
    const NAME: &'static str = "Huber";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        if self.delta == 0.0 {
            return Err(Self::refuse("delta = 0: must be above 0, or use L1"));
        }
        label::values(data).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Criterion for Huber {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        label::same_shape("loss `Huber`, for the label,", output, label)?;
        Ok(output.f_huber_loss(label, Reduction::Mean, self.delta)?)
    }
}
