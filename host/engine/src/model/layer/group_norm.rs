//! Group normalization: over groups of channels, for each sample by itself.

use tch::Tensor;

use crate::error::Result;
use crate::model::LayerOutput;
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;

const EPS: f64 = 1e-5;

/// Groups of channels less their mean, over their deviation, times a weight, plus a bias.
#[derive(Debug)]
pub struct GroupNorm {
    groups: i64,
    weight: Tensor,
    bias: Tensor,
    output: LayerOutput,
}

impl GroupNorm {
    /// `groups` divides `channels`; begins with a weight of 1 and a bias of 0.
    pub fn new(builder: &mut ParamBuilder, path: &str, channels: i64, groups: i64) -> Result<Self> {
        Ok(Self {
            groups,
            output: builder.layer(path),
            weight: builder.param(format!("{path}.weight"), &[channels], Initializer::Ones)?,
            bias: builder.param(format!("{path}.bias"), &[channels], Initializer::Zeros)?,
        })
    }

    /// The output for a batch whose second dimension is the channel.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (Some(&self.weight), Some(&self.bias));
        Ok(self.output.keep(input.f_group_norm(self.groups, weight, bias, EPS, true)?))
    }
}
