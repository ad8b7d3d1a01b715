//! The layer `linear`.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Check, Layer, Plan, Site};
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
    fn sides(&self, site: &Site) -> Check<[i64; 2]> {
        let inputs = site.flow.last(self.inputs)?;
        let outputs = self.outputs.or(site.flow.outputs);
        let outputs =
            outputs.ok_or("the data set does not define the number of outputs: set outputs")?;
        Ok([inputs, outputs])
    }
}

impl Component<Site, Plan> for LinearLayer {
    const NAME: &'static str = "linear";

    fn build(self, site: &Site) -> Result<Box<Plan>> {
        let [inputs, outputs] = self.sides(site).map_err(Self::refuse)?;
        let mut shape = site.flow.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = outputs;
        }
        let path = site.path.clone();
        Ok(Plan::new(site.flow.shaped(shape), move |builder| {
            Linear::with_bias(builder, &path, inputs, outputs, self.bias)
        }))
    }
}

impl Layer for Linear {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Self::forward(self, input)
    }
}
