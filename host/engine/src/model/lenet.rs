//! `LeNet`: convolutions with pooling, then linear layers.

use std::ops::Range;

use hookrack_plugin_api::prelude::Settings;
use hookrack_torch::pool::max_pool_relu;
use tch::Tensor;

use super::init::Init;
use super::layer::{Activation, Conv2d, Kernel, Linear};
use super::param_builder::{ModelInfo, ParamBuilder};
use super::{Mode, Model, ModelContext, check_batch, dropped};
use crate::error::Result;
use crate::registry::Component;

/// Convolutions, each followed by an activation and 2x2 pooling, then linear layers.
///
/// Its tensors are named `conv1.weight`, …, `fc1.weight`, … The defaults are those of LeNet-5 with relu.
#[derive(Debug, Clone, Settings)]
pub struct LeNetSettings {
    /// Output channels of each convolution.
    #[param(default = [6, 16], min = 1)]
    pub channels: Vec<i64>,
    /// Kernel size.
    #[param(default = 5, min = 1)]
    pub kernel: i64,
    /// Zero padding of each convolution.
    #[param(default, min = 0)]
    pub padding: i64,
    /// Kind of 2x2 pooling.
    #[param(default)]
    pub pool: Pool,
    /// Widths of the hidden linear layers.
    #[param(default = [120, 84], min = 1)]
    pub hidden: Vec<i64>,
    /// Activation after each layer but the last.
    #[param(default)]
    pub activation: Activation,
    /// Dropout probability before each linear layer.
    #[param(default, min = 0.0, max = 1.0)]
    pub dropout: f64,
    /// Output features. Default: those of the data set, one per class.
    #[param(min = 1)]
    pub outputs: Option<i64>,
    /// Weight initialization.
    #[param(default)]
    pub init: Init,
}

/// Kind of pooling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub enum Pool {
    /// The largest value.
    #[default]
    Max,
    /// The mean.
    Avg,
}

impl Pool {
    fn apply(self, x: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Self::Max => x.f_max_pool2d([2; 2], [2; 2], [0; 2], [1; 2], false)?,
            Self::Avg => x.f_avg_pool2d([2; 2], [2; 2], [0; 2], false, true, None)?,
        })
    }
}

impl Component<ModelContext, dyn Model> for LeNetSettings {
    const NAME: &'static str = "LeNet";

    fn build(self, context: &ModelContext) -> Result<Box<dyn Model>> {
        let image = context.image().map_err(Self::refuse)?;
        let outputs = context.outputs(self.outputs).map_err(Self::refuse)?;
        self.init.check().map_err(Self::refuse)?;
        let (kernels, features) = self.kernels(image).map_err(Self::refuse)?;
        let mut builder = ParamBuilder::of(context, &self.init);
        let convs = kernels.into_iter().enumerate();
        let convs = convs
            .map(|(i, kernel)| {
                let path = format!("conv{}", i + 1);
                builder.unit(&path);
                Conv2d::new(&mut builder, &path, kernel)
            })
            .collect::<Result<_>>()?;
        let widths: Vec<i64> = [&[features], self.hidden.as_slice(), &[outputs]].concat();
        let linears = widths.windows(2).enumerate();
        let linears = linears
            .map(|(i, pair)| {
                let path = format!("fc{}", i + 1);
                builder.unit(&path);
                Linear::new(&mut builder, &path, pair[0], pair[1])
            })
            .collect::<Result<_>>()?;
        Ok(Box::new(LeNet {
            convs,
            linears,
            pool: self.pool,
            activation: self.activation,
            dropout: self.dropout,
            info: builder.finish(&image, &[outputs]),
        }))
    }
}

impl LeNetSettings {
    /// The convolutions, and the number of features after the last pooling.
    fn kernels(&self, image: [i64; 3]) -> std::result::Result<(Vec<Kernel>, i64), String> {
        let [mut inputs, mut rows, mut columns] = image;
        let mut kernels = Vec::with_capacity(self.channels.len());
        for (i, &outputs) in self.channels.iter().enumerate() {
            let kernel = Kernel {
                padding: self.padding,
                bias: true,
                ..Kernel::same(inputs, outputs, self.kernel, 1)
            };
            let after = [rows, columns].map(|side| kernel.side_after(side).div_euclid(2));
            if after.iter().any(|side| *side < 1) {
                let (conv, side) = (i + 1, self.kernel);
                return Err(format!(
                    "conv{conv}: images of {rows}x{columns} are too small for a kernel of {side} and a pooling of 2; \
                     choose fewer channels, a smaller kernel or more padding"
                ));
            }
            [rows, columns] = after;
            inputs = outputs;
            kernels.push(kernel);
        }
        Ok((kernels, inputs * rows * columns))
    }
}

/// The model itself.
#[derive(Debug)]
struct LeNet {
    convs: Vec<Conv2d>,
    linears: Vec<Linear>,
    pool: Pool,
    activation: Activation,
    dropout: f64,
    info: ModelInfo,
}

impl LeNet {
    fn convolved(&self, conv: &Conv2d, x: &Tensor) -> Result<Tensor> {
        let x = conv.forward(x)?;
        if self.activation == Activation::Relu && self.pool == Pool::Max {
            // The same numbers and gradients as in the other order, from a quarter of the pixels.
            return Ok(max_pool_relu(&x)?);
        }
        self.pool.apply(&self.activation.apply(&x)?)
    }

    fn linear(&self, index: usize, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let flat = if index == 0 { x.f_flatten(1, -1)? } else { x.shallow_clone() };
        let (layer, x) = (&self.linears[index], dropped(flat, self.dropout, mode)?);
        if index + 1 < self.linears.len() {
            layer.activated(&x, self.activation)
        } else {
            layer.forward(&x)
        }
    }
}

impl Model for LeNet {
    fn forward_units(&self, units: Range<usize>, input: &Tensor, mode: Mode) -> Result<Tensor> {
        if units.start == 0 {
            check_batch("model `LeNet`", input, &self.info.input_shape)?;
        }
        let mut x = input.shallow_clone();
        for unit in units {
            x = match unit.checked_sub(self.convs.len()) {
                None => self.convolved(&self.convs[unit], &x)?,
                Some(linear) => self.linear(linear, &x, mode)?,
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

    fn lenet(settings: &[(&str, Value)]) -> Result<Box<dyn Model>> {
        let data = DataSpec { input: vec![1, 28, 28], target: Target::Classes(10) };
        let context = ModelContext::new(data, Device::Cpu);
        Choice::new("LeNet", settings).build(MODELS, &context)
    }

    #[test]
    fn pooling_before_relu_changes_no_bit_of_output_and_gradient() {
        // Windows of negative numbers, of zeros, with the largest number twice, and of any numbers.
        let windows = [-1.0, -2.0, -3.0, -4.0, 0.0, -0.0, 0.0, -1.0, 2.0, 5.0, 5.0, 1.0];
        let images = Tensor::from_slice(&windows).reshape([1, 3, 2, 2]);
        let noise = Tensor::randn([1, 3, 6, 6], (Kind::Double, Device::Cpu));
        for x in [images, noise] {
            let x = x.set_requires_grad(true);
            let gradient = |output: &Tensor| {
                let loss = (output * output + output).sum(Kind::Double);
                Tensor::run_backward(&[loss], &[&x], false, false).remove(0)
            };
            let found = Pool::Max.apply(&x).unwrap().relu_();
            let wanted = Pool::Max.apply(&x.relu()).unwrap();
            assert_eq!(found, wanted);
            assert_eq!(gradient(&found), gradient(&wanted));
        }
    }

    #[test]
    fn dropout_acts_in_training_only() {
        let model = lenet(&[("dropout", 0.5.into())]).unwrap();
        let input = Tensor::ones([2, 1, 28, 28], (Kind::Float, Device::Cpu));
        let out = |mode| model.forward(&input, mode).unwrap();
        assert_eq!(out(Mode::Eval), out(Mode::Eval));
        assert_ne!(out(Mode::Train), out(Mode::Train));
    }

    #[test]
    fn images_that_are_too_small_are_reported_before_a_tensor_is_made() {
        let error = lenet(&[("channels", vec![6_i64, 16, 16].into())]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "model `LeNet`: conv3: images of 4x4 are too small for a kernel of 5 and a pooling of 2; choose fewer \
             channels, a smaller kernel or more padding"
        );
        let input = Tensor::zeros([9, 28, 28], (Kind::Float, Device::Cpu));
        let error = lenet(&[]).unwrap().forward(&input, Mode::Eval).unwrap_err();
        let wanted = "model `LeNet` expects shape [batch, 1, 28, 28], found [9, 28, 28]";
        assert_eq!(error.to_string(), wanted);
    }
}
