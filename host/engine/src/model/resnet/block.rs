//! One residual block: convolutions and a shortcut.

use tch::Tensor;

use crate::error::Result;
use crate::model::layer::{BatchNorm, Conv2d, Kernel};
use crate::model::param_builder::ParamBuilder;
use crate::model::{LayerOutput, Mode};

/// The shape and position of a block.
#[derive(Debug)]
pub(super) struct BlockConfig {
    /// The name in front of those of its tensors.
    pub(super) path: String,
    /// Channels in.
    pub(super) inputs: i64,
    /// Channels inside.
    pub(super) width: i64,
    /// The factor by which it downsamples the image.
    pub(super) stride: i64,
    /// Three convolutions, the outer ones 1x1, instead of two.
    pub(super) bottleneck: bool,
    /// Whether the last norm begins at 0.
    pub(super) silent: bool,
}

impl BlockConfig {
    /// Channels out.
    pub(super) fn outputs(&self) -> i64 {
        if self.bottleneck { 4 * self.width } else { self.width }
    }

    fn kernels(&self) -> Vec<Kernel> {
        let &Self { inputs, width, stride, bottleneck, .. } = self;
        if bottleneck {
            return vec![
                Kernel::same(inputs, width, 1, 1),
                Kernel::same(width, width, 3, stride),
                Kernel::same(width, self.outputs(), 1, 1),
            ];
        }
        vec![Kernel::same(inputs, width, 3, stride), Kernel::same(width, width, 3, 1)]
    }
}

/// The sum of its input and the output of its layers.
#[derive(Debug)]
pub(super) struct Block {
    layers: Vec<(Conv2d, BatchNorm)>,
    downsample: Option<(LayerOutput, Conv2d, BatchNorm)>,
    output: LayerOutput,
}

impl Block {
    pub(super) fn new(builder: &mut ParamBuilder, config: &BlockConfig) -> Result<Self> {
        let (path, kernels) = (&config.path, config.kernels());
        let output = builder.layer(path);
        let mut layers = Vec::with_capacity(kernels.len());
        for (i, kernel) in kernels.iter().enumerate() {
            let conv = Conv2d::kaiming(builder, &format!("{path}.conv{}", i + 1), *kernel)?;
            let silent = config.silent && i + 1 == kernels.len();
            let norm = if silent { BatchNorm::silent } else { BatchNorm::new };
            layers.push((conv, norm(builder, &format!("{path}.bn{}", i + 1), kernel.outputs)?));
        }
        let changed = config.stride > 1 || config.inputs != config.outputs();
        let downsample = changed.then(|| downsample(builder, config)).transpose()?;
        Ok(Self { layers, downsample, output })
    }

    pub(super) fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut x = input.shallow_clone();
        for (index, (conv, norm)) in self.layers.iter().enumerate() {
            let y = conv.forward(&x)?;
            x = if index + 1 < self.layers.len() {
                norm.rectified(&y, mode)?
            } else {
                norm.added(&y, &self.shortcut(input, mode)?, mode)?
            };
        }
        Ok(self.output.keep(x))
    }

    fn shortcut(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        Ok(match &self.downsample {
            None => input.shallow_clone(),
            Some((output, conv, norm)) => output.keep(norm.forward(&conv.forward(input)?, mode)?),
        })
    }
}

/// The projection of the input to the shape of the output.
fn downsample(
    builder: &mut ParamBuilder,
    config: &BlockConfig,
) -> Result<(LayerOutput, Conv2d, BatchNorm)> {
    let (path, kernel) =
        (&config.path, Kernel::same(config.inputs, config.outputs(), 1, config.stride));
    let output = builder.layer(&format!("{path}.downsample"));
    let conv = Conv2d::kaiming(builder, &format!("{path}.downsample.0"), kernel)?;
    let norm = BatchNorm::new(builder, &format!("{path}.downsample.1"), kernel.outputs)?;
    Ok((output, conv, norm))
}
