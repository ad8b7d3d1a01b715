//! The layer `conv`.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Check, Layer, LayerInput, LayerPlan};
use crate::error::Result;
use crate::model::Mode;
use crate::model::layer::{Conv2d, Kernel};
use crate::registry::Component;

/// Convolution over images.
#[derive(Debug, Clone, Settings)]
pub(super) struct ConvLayer {
    /// Input channels, if they are to be checked.
    #[param(min = 1)]
    inputs: Option<i64>,
    /// Output channels.
    #[param(min = 1)]
    outputs: i64,
    /// Kernel size.
    #[param(default = 3, min = 1)]
    kernel: i64,
    /// Stride.
    #[param(default = 1, min = 1)]
    stride: i64,
    /// Zero padding.
    #[param(default, min = 0)]
    padding: i64,
    /// Number of groups that the channels are split into.
    #[param(default = 1, min = 1)]
    groups: i64,
    /// Use a bias.
    #[param(default = true)]
    bias: bool,
}

impl ConvLayer {
    fn kernel(&self, at: &LayerInput) -> Check<(Kernel, [i64; 3])> {
        let &Self { outputs, kernel: extent, stride, padding, groups, bias, .. } = self;
        let [inputs, rows, columns] = at.sample.image()?;
        let found = &at.sample.shape;
        if let Some(set) = self.inputs.filter(|set| *set != inputs) {
            return Err(format!("it expects shape [{set}, .., ..], found shape {found:?}"));
        }
        if inputs % groups != 0 || outputs % groups != 0 {
            return Err(format!(
                "groups = {groups} must divide the {inputs} channels of shape {found:?} and outputs = {outputs}"
            ));
        }
        let kernel = Kernel { inputs, outputs, side: extent, stride, padding, groups, bias };
        let [rows, columns] = [rows, columns].map(|length| kernel.side_after(length));
        if rows < 1 || columns < 1 {
            return Err(format!(
                "a kernel of {extent}x{extent} with padding {padding} does not fit into shape {found:?}"
            ));
        }
        Ok((kernel, [outputs, rows, columns]))
    }
}

impl Component<LayerInput, LayerPlan> for ConvLayer {
    const NAME: &'static str = "conv";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let (kernel, shape) = self.kernel(at).map_err(Self::refuse)?;
        let path = at.path.clone();
        Ok(LayerPlan::new(at.sample.shaped(shape), move |builder| {
            Conv2d::new(builder, &path, kernel)
        }))
    }
}

impl Layer for Conv2d {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Self::forward(self, input)
    }
}
