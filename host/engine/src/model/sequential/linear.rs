//! The layer `linear`.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Check, Layer, LayerInput, LayerPlan};
use crate::error::Result;
use crate::model::Mode;
use crate::model::layer::Linear;
use crate::registry::Component;

/// Linear layer over the last dimension; takes any shape.
#[derive(Debug, Clone, Settings)]
pub(super) struct LinearLayer {
    /// Input features, if they are to be checked.
    #[param(min = 1)]
    inputs: Option<i64>,
    /// Output features. Default: what the data needs.
    #[param(min = 1)]
    outputs: Option<i64>,
    /// Use a bias.
    #[param(default = true)]
    bias: bool,
}

impl LinearLayer {
    fn sides(&self, at: &LayerInput) -> Check<[i64; 2]> {
        let inputs = at.sample.last(self.inputs)?;
        let outputs = self.outputs.or(at.sample.outputs);
        let outputs =
            outputs.ok_or("the data set does not define the number of outputs: set outputs")?;
        Ok([inputs, outputs])
    }
}

impl Component<LayerInput, LayerPlan> for LinearLayer {
    const NAME: &'static str = "linear";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let [inputs, outputs] = self.sides(at).map_err(Self::refuse)?;
        let mut shape = at.sample.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = outputs;
        }
        let path = at.path.clone();
        Ok(LayerPlan::new(at.sample.shaped(shape), move |builder| {
            Linear::with_bias(builder, &path, inputs, outputs, self.bias)
        }))
    }
}

impl Layer for Linear {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Self::forward(self, input)
    }
}
