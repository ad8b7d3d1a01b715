//! Layer normalization over the last dimensions of a tensor.

use tch::Tensor;

use crate::error::Result;
use crate::model::LayerOutput;
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;

const EPS: f64 = 1e-5;

/// Numbers less their mean, over their deviation, times a weight, plus a bias: for each sample by itself.
#[derive(Debug)]
pub struct LayerNorm {
    shape: Vec<i64>,
    weight: Tensor,
    bias: Option<Tensor>,
    output: LayerOutput,
}

impl LayerNorm {
    /// A norm over last dimensions of this shape; begins with a weight of 1 and a bias of 0.
    pub fn new(builder: &mut ParamBuilder, path: &str, shape: &[i64], bias: bool) -> Result<Self> {
        let output = builder.layer(path);
        let weight = builder.param(format!("{path}.weight"), shape, Initializer::Ones)?;
        let bias = bias.then(|| builder.param(format!("{path}.bias"), shape, Initializer::Zeros));
        Ok(Self { shape: shape.to_vec(), weight, bias: bias.transpose()?, output })
    }

    /// The output for a batch.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (Some(&self.weight), self.bias.as_ref());
        Ok(self.output.keep(input.f_layer_norm(self.shape.as_slice(), weight, bias, EPS, true)?))
    }
}
