//! `ResNet`: residual nets of depth 18, 34 and 50, with torchvision's names.

mod block;

use std::ops::Range;

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use self::block::{Block, BlockConfig};
use super::init::Init;
use super::layer::{BatchNorm, Conv2d, Kernel, Linear};
use super::param_builder::{ModelInfo, ParamBuilder};
use super::{LayerOutput, Mode, Model, ModelContext, check_batch};
use crate::error::Result;
use crate::registry::Component;

/// ResNet (He et al., 2015) for images with any number of channels.
///
/// Its tensors have the names and shapes of torchvision's, so that published weights fit.
#[derive(Debug, Clone, Settings)]
pub struct ResNetSettings {
    /// Number of layers: 18, 34 or 50.
    #[param(default = 18)]
    pub depth: i64,
    /// First layers: `imagenet` downsamples by 4 before the first block, `cifar` does not.
    #[param(default)]
    pub stem: Stem,
    /// Channels of the first stage; each further stage doubles them.
    #[param(default = 64, min = 1, max = 65536)]
    pub width: i64,
    /// Initialize the last norm of every block with weight 0, so that it begins as the identity.
    #[param(default)]
    pub zero_init_residual: bool,
    /// Output features. Default: those of the data set, one per class.
    #[param(min = 1)]
    pub outputs: Option<i64>,
    /// Weight initialization.
    #[param(default)]
    pub init: Init,
}

/// The first layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub enum Stem {
    /// A 7x7 kernel with stride 2 and a 3x3 pooling with stride 2.
    #[default]
    Imagenet,
    /// A 3x3 kernel, for images of about 32x32.
    Cifar,
}

/// Blocks of each group, and whether they are bottlenecks.
fn blocks(depth: i64) -> Option<([usize; 4], bool)> {
    match depth {
        18 => Some(([2, 2, 2, 2], false)),
        34 => Some(([3, 4, 6, 3], false)),
        50 => Some(([3, 4, 6, 3], true)),
        _ => None,
    }
}

impl Component<ModelContext, dyn Model> for ResNetSettings {
    const NAME: &'static str = "ResNet";

    fn build(self, context: &ModelContext) -> Result<Box<dyn Model>> {
        let image = context.image().map_err(Self::refuse)?;
        let outputs = context.outputs(self.outputs).map_err(Self::refuse)?;
        self.init.check().map_err(Self::refuse)?;
        let (counts, bottleneck) = blocks(self.depth)
            .ok_or_else(|| Self::refuse(format!("depth = {}: must be 18, 34 or 50", self.depth)))?;
        let mut builder = ParamBuilder::of(context, &self.init);
        let side = if self.stem == Stem::Cifar { 3 } else { 7 };
        let stride = if self.stem == Stem::Cifar { 1 } else { 2 };
        let first = Kernel::same(image[0], self.width, side, stride);
        builder.unit("conv1");
        let conv = Conv2d::kaiming(&mut builder, "conv1", first)?;
        let norm = BatchNorm::new(&mut builder, "bn1", self.width)?;
        let relu = builder.layer("relu");
        let maxpool = (self.stem == Stem::Imagenet).then(|| builder.layer("maxpool"));
        let (mut blocks, mut inputs) = (Vec::new(), self.width);
        for (group, &count) in counts.iter().enumerate() {
            for index in 0..count {
                let config = BlockConfig {
                    path: format!("layer{}.{index}", group + 1),
                    inputs,
                    width: self.width << group,
                    stride: if group > 0 && index == 0 { 2 } else { 1 },
                    bottleneck,
                    silent: self.zero_init_residual,
                };
                inputs = config.outputs();
                builder.unit(&config.path);
                let of_group = builder.layer(&format!("layer{}", group + 1));
                let block = Block::new(&mut builder, &config)?;
                blocks.push((block, (index + 1 == count).then_some(of_group)));
            }
        }
        builder.unit("fc");
        let avgpool = builder.layer("avgpool");
        let linear = Linear::new(&mut builder, "fc", inputs, outputs)?;
        let (plain, info) = (Plain { relu, maxpool, avgpool }, builder.finish(&image, &[outputs]));
        Ok(Box::new(ResNet { conv, norm, plain, blocks, linear, info }))
    }
}

/// The model itself.
#[derive(Debug)]
struct ResNet {
    conv: Conv2d,
    norm: BatchNorm,
    plain: Plain,
    // The last block of a group stores the group's output.
    blocks: Vec<(Block, Option<LayerOutput>)>,
    linear: Linear,
    info: ModelInfo,
}

/// Outputs of the layers without tensors; a pooling is there only for large images.
#[derive(Debug)]
struct Plain {
    relu: LayerOutput,
    maxpool: Option<LayerOutput>,
    avgpool: LayerOutput,
}

impl ResNet {
    fn stem(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        check_batch("model `ResNet`", input, &self.info.input_shape)?;
        let x = self.conv.forward(input)?;
        let pool = |x: &Tensor| x.f_max_pool2d([3; 2], [2; 2], [1; 2], [1; 2], false);
        let Plain { relu, maxpool, .. } = &self.plain;
        match maxpool {
            // The same numbers and gradients as in the other order, from a quarter of the pixels.
            Some(output) if !relu.is_wanted() => {
                Ok(output.keep(pool(&self.norm.forward(&x, mode)?)?.f_relu_()?))
            }
            Some(output) => Ok(output.keep(pool(&relu.keep(self.norm.rectified(&x, mode)?))?)),
            None => Ok(relu.keep(self.norm.rectified(&x, mode)?)),
        }
    }

    fn block(&self, index: usize, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let (block, of_group) = &self.blocks[index];
        let x = block.forward(x, mode)?;
        Ok(if let Some(output) = of_group { output.keep(x) } else { x })
    }

    fn head(&self, x: &Tensor) -> Result<Tensor> {
        let pooled = self.plain.avgpool.keep(x.f_adaptive_avg_pool2d([1; 2])?);
        self.linear.forward(&pooled.f_flatten(1, -1)?)
    }
}

impl Model for ResNet {
    fn forward_units(&self, units: Range<usize>, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut x = input.shallow_clone();
        for unit in units {
            x = match unit.checked_sub(1) {
                None => self.stem(&x, mode)?,
                Some(index) if index < self.blocks.len() => self.block(index, &x, mode)?,
                Some(_) => self.head(&x)?,
            };
        }
        Ok(x)
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Target};
    use crate::model::MODELS;
    use crate::registry::{Build as _, Choice};
    use hookrack_plugin_api::Value;
    use tch::{Device, Kind};

    fn resnet(input: &[i64], settings: &[(&str, Value)]) -> Result<Box<dyn Model>> {
        let data = DataSpec { input: input.to_vec(), target: Target::Classes(10) };
        let context = ModelContext::new(data, Device::Cpu);
        Choice::new("ResNet", settings).build(MODELS, &context)
    }

    fn numbers(model: &dyn Model) -> i64 {
        model.params().iter().map(|param| param.tensor.size().iter().product::<i64>()).sum()
    }

    #[test]
    fn published_sizes_are_met() {
        let outputs = ("outputs", 1000_i64.into());
        for (depth, wanted) in [(18_i64, 11_689_512), (34, 21_797_672), (50, 25_557_032)] {
            let model =
                resnet(&[3, 224, 224], &[("depth", depth.into()), outputs.clone()]).unwrap();
            assert_eq!(numbers(model.as_ref()), wanted, "depth {depth}");
        }
    }

    #[test]
    fn a_silent_block_begins_as_the_way_around_it() {
        let settings = [("width", 2_i64.into()), ("zero_init_residual", true.into())];
        let model = resnet(&[1, 8, 8], &settings).unwrap();
        let weight = |name: &str| {
            let found = model.params().iter().find(|param| param.name == name);
            found.unwrap().tensor.sum(Kind::Float).double_value(&[])
        };
        assert!(weight("layer1.0.bn2.weight").abs() < 1e-9);
        assert!((weight("layer1.0.bn1.weight") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_it_cannot_be_is_reported() {
        let text = |input: &[i64], settings: &[(&str, Value)]| match resnet(input, settings) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("accepted"),
        };
        assert_eq!(
            text(&[3, 8, 8], &[("depth", 20_i64.into())]),
            "model `ResNet`: depth = 20: must be 18, 34 or 50"
        );
        assert_eq!(
            text(&[64], &[]),
            "model `ResNet`: it expects images [channels, rows, columns], but a sample has shape [64]"
        );
    }
}
