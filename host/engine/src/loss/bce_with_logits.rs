//! `BCEWithLogits`: binary classification of each output independently.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::weights::{beside, weights};
use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Binary cross entropy between logits and labels in 0..1 of the same shape.
#[derive(Debug, Clone, Settings)]
pub struct BceWithLogitsSettings {
    /// Weight of positive labels: one number, or one per column; empty for 1.
    #[param(default)]
    pub pos_weight: Vec<f64>,
}

impl Component<DataSpec, dyn Criterion> for BceWithLogitsSettings {
    const NAME: &'static str = "BCEWithLogits";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        let shape = label::values(data).map_err(Self::refuse)?;
        let columns = if self.pos_weight.len() == 1 { 1 } else { *shape.last().unwrap_or(&1) };
        let pos_weight = weights(&self.pos_weight, columns)
            .map_err(|why| Self::refuse_key("pos_weight", why))?;
        Ok(Box::new(BceWithLogits { pos_weight }))
    }
}

/// The loss itself.
#[derive(Debug)]
struct BceWithLogits {
    pos_weight: Option<Tensor>,
}

impl Criterion for BceWithLogits {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        label::same_shape("loss `BCEWithLogits`, for the label,", output, label)?;
        let pos_weight = beside(self.pos_weight.as_ref(), output)?;
        let mean = Reduction::Mean;
        Ok(output.f_binary_cross_entropy_with_logits(label, None, pos_weight, mean)?)
    }
}
